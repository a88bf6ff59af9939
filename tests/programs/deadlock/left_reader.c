// A thread ends while it has a read-write lock for reading; a writer waits for it already. Nobody else is left.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t both;
static void *leaver(void *x) {
    pthread_rwlock_rdlock(&table);
    pthread_barrier_wait(&both);
    usleep(100000);
    return x;
}
int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    start(leaver, 0);
    pthread_barrier_wait(&both);
    pthread_rwlock_wrlock(&table);
    return 0;
}
