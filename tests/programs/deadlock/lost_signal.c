// The signal comes before the wait, and nobody gives another.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "../apart.h"
#include "dead.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static void *waiter(void *x) {
    after(1);
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    return x;
}
int main(void) {
    pthread_t other = start(waiter, 0);
    pthread_cond_signal(&ready);
    pass();
    pthread_join(other, NULL);
    return 0;
}
