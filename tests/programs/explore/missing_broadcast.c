// Missing broadcast: a gate opens for all, but only one of those who wait at it is woken.
// Decides: the second guest waits before the signal.
//@ flags: -pthread
//@ ends: 122
//@ fails: 0,0,0,1,1,1,2,2,2,0,0,0,1,1,1,0
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
CONDITION(opened);
static int is_open;

static void enter(void) {
    LOCK(lock);
    while (!is_open) WAIT(opened, lock);
    UNLOCK(lock);
}

static void *early(void *unused) {
    enter();
    return unused;
}

static void *late(void *unused) {
    MUCH_LATER();
    MUCH_LATER();
    enter();
    return unused;
}

int main(void) {
    pthread_t a, b;
    START(a, early);
    START(b, late);
    MUCH_LATER();
    LOCK(lock);
    is_open = 1;
#ifdef REPAIRED
    BROADCAST(opened);
#else
    SIGNAL(opened);
#endif
    UNLOCK(lock);
    JOIN(a);
    JOIN(b);
    return 0;
}
