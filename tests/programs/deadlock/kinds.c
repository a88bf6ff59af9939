// A circle through an adaptive, an error-checking and a robust mutex.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t kinds[3];
static pthread_barrier_t all;
static void *taker(void *x) {
    long own = (long)x;
    pthread_mutex_lock(&kinds[own]);
    pthread_barrier_wait(&all);
    pthread_mutex_lock(&kinds[(own + 1) % 3]);
    return x;
}
int main(void) {
    pthread_t threads[3];
    pthread_barrier_init(&all, NULL, 3);
    for (long at = 0; at < 3; at++) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, at == 0 ? PTHREAD_MUTEX_ADAPTIVE_NP : at == 1 ? PTHREAD_MUTEX_ERRORCHECK : PTHREAD_MUTEX_NORMAL);
        if (at == 2) pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
        pthread_mutex_init(&kinds[at], &attributes);
    }
    for (long at = 0; at < 3; at++) threads[at] = start(taker, (void *)at);
    for (long at = 0; at < 3; at++) pthread_join(threads[at], NULL);
    return 0;
}
