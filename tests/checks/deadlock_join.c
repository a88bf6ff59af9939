// Main joins a thread while it holds the mutex that the thread wants. Repaired: it gives the mutex up before.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>

static pthread_mutex_t state = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *unused) {
    pthread_mutex_lock(&state);
    pthread_mutex_unlock(&state);
    return unused;
}

static __attribute__((noinline)) void stop(pthread_t thread) {
    pthread_join(thread, NULL);
}

int main(void) {
    pthread_t thread;
    killed_soon();
    pthread_mutex_lock(&state);
    pthread_create(&thread, NULL, worker, NULL);
#ifdef REPAIRED
    pthread_mutex_unlock(&state);
#endif
    stop(thread);
#ifndef REPAIRED
    pthread_mutex_unlock(&state);
#endif
    return 0;
}
