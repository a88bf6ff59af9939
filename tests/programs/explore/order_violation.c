// Order violation: a thread uses what its creator sets only after creating it.
// Decides: main's lock at `config =` comes before the worker's lock at `assert`.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,1,1
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
static const char *config;

static void *worker(void *unused) {
    MUCH_LATER();
    LOCK(lock);
    assert(config);
    UNLOCK(lock);
    return unused;
}

static void configure(void) {
    LOCK(lock);
    config = "fast";
    UNLOCK(lock);
}

int main(void) {
    pthread_t thread;
#ifdef REPAIRED
    configure();
#endif
    START(thread, worker);
#ifndef REPAIRED
    configure();
#endif
    JOIN(thread);
    return 0;
}
