// Three philosophers take two forks each, one after the other: a circle of three. Repaired: the last is left-handed.
//@ flags: -pthread
#include "../programs/apart.h"
#include <pthread.h>

static pthread_mutex_t forks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void *philosopher(void *number) {
    long left = (long)number, right = (left + 1) % 3;
#ifdef REPAIRED
    if (left == 2) {
        left = 0;
        right = 2;
    }
#endif
    after((int)(long)number);
    pthread_mutex_lock(&forks[left]);
    pthread_mutex_lock(&forks[right]);
    pthread_mutex_unlock(&forks[right]);
    pthread_mutex_unlock(&forks[left]);
    pass();
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, philosopher, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
