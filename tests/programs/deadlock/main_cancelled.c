// The main thread was cancelled in a call that is not caught: nobody is left to signal.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
#include <poll.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_t first;
static void *waiter(void *x) {
    pthread_cancel(first);
    pthread_join(first, NULL);
    pthread_mutex_lock(&lock);
    for (;;) pthread_cond_wait(&ready, &lock);
    return x;
}
int main(void) {
    first = pthread_self();
    start(waiter, 0);
    for (;;) poll(NULL, 0, -1);
}
