// Deadlock through join: a thread is joined by one who holds the lock that it needs to end.
// Decides: main's lock comes before the worker's.
//@ flags: -pthread
//@ ends: 122
//@ fails: 0,0,0,1
//@ replay: 3 times
#include "explore.h"

MUTEX(registry);
static int results;

static void *worker(void *unused) {
    LOCK(registry);
    results++;
    UNLOCK(registry);
    return unused;
}

int main(void) {
    pthread_t thread;
    START(thread, worker);
    MUCH_LATER();
#ifdef REPAIRED
    JOIN(thread);
    LOCK(registry);
#else
    LOCK(registry);
    JOIN(thread);
#endif
    assert(results == 1);
    UNLOCK(registry);
    return 0;
}
