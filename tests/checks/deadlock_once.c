// What is run once wants a mutex whose holder waits for it to have run. Repaired: the mutex is given back before.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t ready = PTHREAD_ONCE_INIT;
static pthread_barrier_t both;

static void prepare(void) {
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&table);
    pthread_mutex_unlock(&table);
}

static void *first(void *unused) { return pthread_once(&ready, prepare), unused; }

static void *second(void *unused) {
    pthread_mutex_lock(&table);
#ifdef REPAIRED
    pthread_mutex_unlock(&table);
#endif
    pthread_barrier_wait(&both);
    pthread_once(&ready, prepare);
#ifndef REPAIRED
    pthread_mutex_unlock(&table);
#endif
    return unused;
}

int main(void) {
    pthread_t threads[2];
    killed_soon();
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], NULL, first, NULL);
    pthread_create(&threads[1], NULL, second, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
