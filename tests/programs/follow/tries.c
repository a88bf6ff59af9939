// A thread tries the mutex that the main thread takes; the schedule decides what comes of it.
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *unused) {
    if (pthread_mutex_trylock(&lock) != 0) {
        puts("busy");
        return unused;
    }
    puts("got it");
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
