// Lost wake-up: a thread looks whether it has to wait, lets the lock go, and waits then.
// Decides: the signal comes between the waiter's unlock and its wait.
//@ flags: -pthread
//@ ends: 122
//@ fails: 0,0,0,1,1,1,2,2,2,2,2,1,1
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
CONDITION(ready);
static int is_ready;

static void *waiter(void *unused) {
    LOCK(lock);
#ifdef REPAIRED
    while (!is_ready) WAIT(ready, lock);
#else
    int must_wait = !is_ready;
    UNLOCK(lock);
    LOCK(lock);
    if (must_wait) WAIT(ready, lock);
#endif
    UNLOCK(lock);
    return unused;
}

static void *signaller(void *unused) {
    LATER();
    LOCK(lock);
    is_ready = 1;
    SIGNAL(ready);
    UNLOCK(lock);
    return unused;
}

int main(void) {
    pthread_t a, b;
    START(a, waiter);
    START(b, signaller);
    JOIN(a);
    JOIN(b);
    return 0;
}
