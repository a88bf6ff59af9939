// Threads end without unlocking robust mutexes: whoever waits gets them.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
#include <errno.h>
static pthread_mutex_t gate;
static pthread_barrier_t both;
static void *leaver(void *x) {
    pthread_mutex_lock(&gate);
    pthread_barrier_wait(&both);
    usleep(20000);
    return x;
}
int main(void) {
    pthread_mutexattr_t robust;
    pthread_mutexattr_init(&robust);
    pthread_mutexattr_settype(&robust, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutexattr_setrobust(&robust, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&gate, &robust);
    pthread_barrier_init(&both, NULL, 2);
    for (int round = 0; round < 3; round++) {
        pthread_t thread = start(leaver, 0);
        pthread_barrier_wait(&both);
        if (pthread_mutex_lock(&gate) == EOWNERDEAD) pthread_mutex_consistent(&gate);
        pthread_mutex_unlock(&gate);
        pthread_join(thread, NULL);
    }
    puts("got it");
    return 0;
}
