// Two threads take two mutexes in opposite orders, some time apart: no deadlock this time, but there could be.
//@ flags: -pthread
#include "../programs/apart.h"
#include <pthread.h>

static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *transfer(void *unused) {
    both(&accounts, &journal);
    pass();
    return unused;
}

static void *report(void *unused) {
    after(1);
#ifdef REPAIRED
    both(&accounts, &journal);
#else
    both(&journal, &accounts);
#endif
    return unused;
}

int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, transfer, NULL);
    pthread_create(&two, NULL, report, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
