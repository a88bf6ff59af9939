// A reader wants to write what another thread writes, who wants to write what is being read. Repaired: the reader gives
// way first.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>

static pthread_rwlock_t names = PTHREAD_RWLOCK_INITIALIZER, numbers = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both_have_one;

static void *reader(void *unused) {
    pthread_rwlock_rdlock(&names);
    pthread_barrier_wait(&both_have_one);
#ifdef REPAIRED
    pthread_rwlock_unlock(&names);
#endif
    pthread_rwlock_wrlock(&numbers);
    pthread_rwlock_unlock(&numbers);
#ifndef REPAIRED
    pthread_rwlock_unlock(&names);
#endif
    return unused;
}

static void *writer(void *unused) {
    pthread_rwlock_wrlock(&numbers);
    pthread_barrier_wait(&both_have_one);
    pthread_rwlock_wrlock(&names);
    pthread_rwlock_unlock(&names);
    pthread_rwlock_unlock(&numbers);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    killed_soon();
    pthread_barrier_init(&both_have_one, NULL, 2);
    pthread_create(&threads[0], NULL, reader, NULL);
    pthread_create(&threads[1], NULL, writer, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
