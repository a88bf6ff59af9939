// A thread ends without unlocking a mutex that only it can unlock, and for which another one waits already.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t accounts = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_barrier_t both;
static void *leaver(void *x) {
    pthread_mutex_lock(&accounts);
    pthread_barrier_wait(&both);
    usleep(100000);
    return x;
}
static void *waiter(void *x) {
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&accounts);
    return x;
}
int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    start(leaver, 0);
    start(waiter, 0);
    for (;;) sleep(1);
}
