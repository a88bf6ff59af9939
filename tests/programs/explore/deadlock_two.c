// Deadlock of two: two threads take two mutexes in different orders.
// Decides: each takes its first mutex before the other takes its second one.
//@ flags: -pthread
//@ ends: 122
//@ fails: 0,0,0,1,1,2,2
//@ replay: 3 times
#include "explore.h"

MUTEX(a);
MUTEX(b);

static void *forwards(void *unused) {
    LOCK(a);
    LOCK(b);
    UNLOCK(b);
    UNLOCK(a);
    return unused;
}

static void *backwards(void *unused) {
    LATER();
#ifdef REPAIRED
    LOCK(a);
    LOCK(b);
    UNLOCK(b);
    UNLOCK(a);
#else
    LOCK(b);
    LOCK(a);
    UNLOCK(a);
    UNLOCK(b);
#endif
    return unused;
}

int main(void) {
    pthread_t one, two;
    START(one, forwards);
    START(two, backwards);
    JOIN(one);
    JOIN(two);
    return 0;
}
