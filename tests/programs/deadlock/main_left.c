// The main thread has left by pthread_exit: nobody is left to signal.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static void *waiter(void *x) {
    pthread_mutex_lock(&lock);
    for (;;) pthread_cond_wait(&ready, &lock);
    return x;
}
int main(void) {
    start(waiter, 0);
    pthread_exit(NULL);
}
