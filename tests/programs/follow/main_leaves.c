// The main thread leaves by pthread_exit; the other one goes on alone.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *body(void *unused) {
    pthread_mutex_lock(&mutex);
    puts("alone");
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_exit(NULL);
}
