// Signal before wait: a thread waits for a condition without asking whether what it waits for has happened.
// Decides: the signal comes before the wait.
//@ flags: -pthread
//@ ends: 122
//@ fails: 0,0,1,1,1,1,1,0,0
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
CONDITION(done);
static int is_done;

static void *worker(void *unused) {
    MUCH_LATER();
    LOCK(lock);
    is_done = 1;
    SIGNAL(done);
    UNLOCK(lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    START(thread, worker);
    LOCK(lock);
#ifdef REPAIRED
    while (!is_done)
#endif
        WAIT(done, lock);
    UNLOCK(lock);
    JOIN(thread);
    return 0;
}
