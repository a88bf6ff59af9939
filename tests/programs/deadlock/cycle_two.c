// Two threads take two mutexes in opposite order, and each waits for the other's.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void *one(void *x) {
    pthread_mutex_lock(&a);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&b);
    return x;
}
static void *two(void *x) {
    pthread_mutex_lock(&b);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&a);
    return x;
}
int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_t first = start(one, 0), second = start(two, 0);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    return 0;
}
