// A thread ends while it has a read-write lock for writing. Nobody else is left.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static void *leaver(void *x) { return pthread_rwlock_wrlock(&table), x; }
static void *reader(void *x) { return pthread_rwlock_rdlock(&table), x; }
int main(void) {
    pthread_join(start(leaver, 0), NULL);
    pthread_join(start(reader, 0), NULL);
    return 0;
}
