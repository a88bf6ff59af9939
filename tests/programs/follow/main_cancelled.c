// The other thread cancels the main thread, which joins it, and goes on alone.
#include <pthread.h>
#include <stdio.h>

static pthread_t first;

static void *body(void *unused) {
    pthread_cancel(first);
    pthread_join(first, NULL);
    puts("alone");
    return unused;
}

int main(void) {
    pthread_t thread;
    first = pthread_self();
    pthread_create(&thread, NULL, body, NULL);
    return pthread_join(thread, NULL);
}
