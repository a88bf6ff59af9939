// Two threads are dead while a third still works: found all the same, and the program's end is its own.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER, c = PTHREAD_MUTEX_INITIALIZER;
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
    start(one, 0);
    start(two, 0);
    for (;;) {
        pthread_mutex_lock(&c);
        pthread_mutex_unlock(&c);
        usleep(1000);
    }
}
