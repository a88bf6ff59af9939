// Two threads write-lock two read-write locks in opposite order, one of them a C11 mutex away.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
#include <threads.h>
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t log_lock;
static pthread_barrier_t both;
static void *one(void *x) {
    pthread_rwlock_wrlock(&table);
    pthread_barrier_wait(&both);
    mtx_lock(&log_lock);
    return x;
}
static void *two(void *x) {
    mtx_lock(&log_lock);
    pthread_barrier_wait(&both);
    pthread_rwlock_rdlock(&table);
    return x;
}
int main(void) {
    mtx_init(&log_lock, mtx_plain);
    pthread_barrier_init(&both, NULL, 2);
    pthread_t first = start(one, 0), second = start(two, 0);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
