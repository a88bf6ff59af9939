// Two threads wait, one signal comes: one of them waits for ever. Repaired: a broadcast.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int waiting, is_open;

static void *visitor(void *unused) {
    pthread_mutex_lock(&lock);
    waiting++;
    while (!is_open) pthread_cond_wait(&opened, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static int are_waiting(void) {
    pthread_mutex_lock(&lock);
    int many = waiting;
    pthread_mutex_unlock(&lock);
    return many;
}

int main(void) {
    pthread_t threads[2];
    killed_soon();
    // The first to wait is the first to be woken.
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, visitor, NULL);
        while (are_waiting() <= i) usleep(1000);
    }
    pthread_mutex_lock(&lock);
    is_open = 1;
#ifdef REPAIRED
    pthread_cond_broadcast(&opened);
#else
    pthread_cond_signal(&opened);
#endif
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
