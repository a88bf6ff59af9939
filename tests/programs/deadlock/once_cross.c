// What is run once wants a mutex whose holder waits for it to have run.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t ready = PTHREAD_ONCE_INIT;
static pthread_barrier_t both;
static void prepare(void) {
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&table);
}
static void *first(void *x) { return pthread_once(&ready, prepare), x; }
static void *second(void *x) {
    pthread_mutex_lock(&table);
    pthread_barrier_wait(&both);
    pthread_once(&ready, prepare);
    return x;
}
int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_t one = start(first, 0), two = start(second, 0);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
