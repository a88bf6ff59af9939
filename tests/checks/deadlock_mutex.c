// Two threads hold one mutex each and wait for the other's. Repaired: both take them in the same order.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_have_one;

static void meet(void) {
#ifndef REPAIRED
    pthread_barrier_wait(&both_have_one);
#endif
}

static void *left(void *unused) {
    pthread_mutex_lock(&a);
    meet();
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return unused;
}

static void *right(void *unused) {
#ifdef REPAIRED
    return left(unused);
#endif
    pthread_mutex_lock(&b);
    meet();
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    killed_soon();
    pthread_barrier_init(&both_have_one, NULL, 2);
    pthread_create(&threads[0], NULL, left, NULL);
    pthread_create(&threads[1], NULL, right, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
