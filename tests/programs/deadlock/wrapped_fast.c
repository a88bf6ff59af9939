// The same without frame pointers: it is not known from where the wrapper was called, and that is said.
//@ flags: -pthread -g -O2 -fno-inline -fomit-frame-pointer
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void my_lock(pthread_mutex_t *mutex) {
    if (pthread_mutex_lock(mutex) != 0) abort();
}
static void *forwards(void *x) {
    my_lock(&left);
    pthread_barrier_wait(&both);
    my_lock(&right);
    return x;
}
static void *backwards(void *x) {
    my_lock(&right);
    pthread_barrier_wait(&both);
    my_lock(&left);
    return x;
}
int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_t one = start(forwards, 0), two = start(backwards, 0);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
