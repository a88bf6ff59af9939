// Atomicity violation over two locks: a pair is written half by half, each half under a lock of its own.
// Decides: the second writer comes between the first one's unlock of `x_lock` and its lock of `y_lock`.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,1,2,2,2,2,2,2,1,1,1,0,0
//@ replay: 3 times
#include "explore.h"

MUTEX(pair_lock);
MUTEX(x_lock);
MUTEX(y_lock);
static int x, y;

static void put(int value) {
#ifdef REPAIRED
    LOCK(pair_lock);
#endif
    LOCK(x_lock);
    x = value;
    UNLOCK(x_lock);
    LOCK(y_lock);
    y = value;
    UNLOCK(y_lock);
#ifdef REPAIRED
    UNLOCK(pair_lock);
#endif
}

static void *first(void *unused) {
    put(1);
    return unused;
}

static void *second(void *unused) {
    LATER();
    put(2);
    return unused;
}

int main(void) {
    pthread_t a, b;
    (void)pair_lock;
    START(a, first);
    START(b, second);
    JOIN(a);
    JOIN(b);
    assert(x == y);
    return 0;
}
