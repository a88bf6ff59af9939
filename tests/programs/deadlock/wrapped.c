// Locks taken through a function of the program's own, twice by one function: each is told with the line that called.
//@ flags: -pthread -g -O0 -no-pie
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static void my_lock(pthread_mutex_t *mutex) {
    if (pthread_mutex_lock(mutex) != 0) abort();
}
static void take(pthread_mutex_t *one, pthread_mutex_t *two) {
    my_lock(one);
    pthread_barrier_wait(&both);
    my_lock(two);
}
static void *forwards(void *x) { return take(&left, &right), x; }
static void *backwards(void *x) { return take(&right, &left), x; }
int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_t one = start(forwards, 0), two = start(backwards, 0);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
