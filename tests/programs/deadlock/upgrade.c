// A reader of a read-write lock wants to write: it waits for itself.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static void *upgrader(void *x) {
    pthread_rwlock_rdlock(&table);
    pthread_rwlock_wrlock(&table);
    return x;
}
int main(void) {
    pthread_join(start(upgrader, 0), NULL);
    return 0;
}
