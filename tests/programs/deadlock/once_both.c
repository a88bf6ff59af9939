// What is run once waits for something else that is run once, and the other way round.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_once_t left = PTHREAD_ONCE_INIT, right = PTHREAD_ONCE_INIT;
static pthread_barrier_t both;
static void nothing(void) {}
static void make_left(void) {
    pthread_barrier_wait(&both);
    pthread_once(&right, nothing);
}
static void make_right(void) {
    pthread_barrier_wait(&both);
    pthread_once(&left, nothing);
}
static void *other(void *x) { return pthread_once(&right, make_right), x; }
int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_t thread = start(other, 0);
    pthread_once(&left, make_left);
    pthread_join(thread, NULL);
    return 0;
}
