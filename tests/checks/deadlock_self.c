// A thread locks a mutex that it has already. Repaired: the inner function does not lock.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>

static pthread_mutex_t list = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void insert(void) {
#ifndef REPAIRED
    pthread_mutex_lock(&list);
    pthread_mutex_unlock(&list);
#endif
}

static void *worker(void *unused) {
    pthread_mutex_lock(&list);
    insert();
    pthread_mutex_unlock(&list);
    return unused;
}

int main(void) {
    pthread_t thread;
    killed_soon();
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    return 0;
}
