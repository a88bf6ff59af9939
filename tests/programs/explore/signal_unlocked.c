// Lost wake-up: who ends the wait changes the flag and signals without holding the waiter's lock.
// Decides: the signal comes between the waiter's lock, behind which it looks, and its wait.
//@ flags: -pthread
//@ ends: 122
//@ fails: 0,0,0,1,1,2,2,2,1
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
CONDITION(stopped);
static volatile int stop;

static void *worker(void *unused) {
    LOCK(lock);
    while (!stop) WAIT(stopped, lock);
    UNLOCK(lock);
    return unused;
}

static void *stopper(void *unused) {
    LATER();
#ifdef REPAIRED
    LOCK(lock);
#endif
    stop = 1;
    SIGNAL(stopped);
#ifdef REPAIRED
    UNLOCK(lock);
#endif
    return unused;
}

int main(void) {
    pthread_t a, b;
    START(a, worker);
    START(b, stopper);
    JOIN(a);
    JOIN(b);
    return 0;
}
