// A thread returns early with the mutex locked, and main waits for it. Repaired: it unlocks on every way out.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *is_empty) {
    pthread_mutex_lock(&table);
#ifndef REPAIRED
    if (is_empty) return NULL;
#endif
    pthread_mutex_unlock(&table);
    return is_empty;
}

int main(void) {
    pthread_t thread;
    killed_soon();
    pthread_create(&thread, NULL, worker, &table);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&table);
    pthread_mutex_unlock(&table);
    return 0;
}
