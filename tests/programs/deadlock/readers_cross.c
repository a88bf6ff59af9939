// Two threads read one read-write lock each, and want to write the other's.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_rwlock_t left = PTHREAD_RWLOCK_INITIALIZER, right = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;
static void *one(void *x) {
    pthread_rwlock_rdlock(&left);
    pthread_barrier_wait(&both);
    pthread_rwlock_wrlock(&right);
    return x;
}
static void *two(void *x) {
    pthread_rwlock_rdlock(&right);
    pthread_barrier_wait(&both);
    pthread_rwlock_wrlock(&left);
    return x;
}
int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_t first = start(one, 0), second = start(two, 0);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
