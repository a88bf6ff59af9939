// The only other thread ends without a signal: nobody is left to give it.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int waiting;
static void *worker(void *x) {
    for (int seen = 0; !seen; usleep(100)) {
        pthread_mutex_lock(&lock);
        seen = waiting;
        pthread_mutex_unlock(&lock);
    }
    return x;
}
int main(void) {
    pthread_t other = start(worker, 0);
    pthread_detach(other);
    pthread_mutex_lock(&lock);
    waiting = 1;
    while (waiting) pthread_cond_wait(&ready, &lock);
    return 0;
}
