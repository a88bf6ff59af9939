// The main thread joins one that waits for the mutex that the main thread holds.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *needs_lock(void *x) {
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    return x;
}
int main(void) {
    pthread_mutex_lock(&lock);
    pthread_t other = start(needs_lock, 0);
    pthread_join(other, NULL);
    pthread_mutex_unlock(&lock);
    return 0;
}
