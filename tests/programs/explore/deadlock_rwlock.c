// Deadlock through a rwlock: a reader wants the mutex of somebody who wants to write.
// Decides: the read-lock and the writer's lock of `journal` both come before the reader's lock of `journal`.
//@ flags: -pthread
//@ ends: 122
//@ fails: 0,0,0,1,1,2,2
//@ replay: 3 times
#include "explore.h"

RWLOCK(table);
MUTEX(journal);

static void *reader(void *unused) {
    pthread_rwlock_rdlock(&table);
    LOCK(journal);
    UNLOCK(journal);
    pthread_rwlock_unlock(&table);
    return unused;
}

static void *writer(void *unused) {
    LATER();
#ifdef REPAIRED
    pthread_rwlock_wrlock(&table);
    LOCK(journal);
    UNLOCK(journal);
    pthread_rwlock_unlock(&table);
#else
    LOCK(journal);
    pthread_rwlock_wrlock(&table);
    pthread_rwlock_unlock(&table);
    UNLOCK(journal);
#endif
    return unused;
}

int main(void) {
    pthread_t a, b;
    START(a, reader);
    START(b, writer);
    JOIN(a);
    JOIN(b);
    return 0;
}
