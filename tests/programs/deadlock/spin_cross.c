// Two threads take two spinlocks in different orders.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_spinlock_t left, right;
static pthread_barrier_t both;
static void *forwards(void *x) {
    pthread_spin_lock(&left);
    pthread_barrier_wait(&both);
    pthread_spin_lock(&right);
    return x;
}
static void *backwards(void *x) {
    pthread_spin_lock(&right);
    pthread_barrier_wait(&both);
    pthread_spin_lock(&left);
    return x;
}
int main(void) {
    pthread_spin_init(&left, 0);
    pthread_spin_init(&right, 0);
    pthread_barrier_init(&both, NULL, 2);
    pthread_t one = start(forwards, 0), two = start(backwards, 0);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
