// A reader that upgrades: it gives its read-lock up, takes the write-lock, and trusts what it read.
// Decides: both read-locks come before both write-locks.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,2,2,1,2,1,1,2
//@ replay: 3 times
#include "explore.h"

RWLOCK(lock);
static int room = 1;

static void *guest(void *late) {
    if (late) LATER();
    pthread_rwlock_rdlock(&lock);
    int is_free = room > 0;
    pthread_rwlock_unlock(&lock);
    if (!is_free) return NULL;
    pthread_rwlock_wrlock(&lock);
#ifdef REPAIRED
    if (room > 0)
#endif
        room--;
    assert(room >= 0);
    pthread_rwlock_unlock(&lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, guest, NULL);
    pthread_create(&b, NULL, guest, &lock);
    JOIN(a);
    JOIN(b);
    return 0;
}
