// Spinning on a flag with yields: the flag is set before what it promises.
// Decides: both locks of the spinner's last round come before the setter's lock at `data =`.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,0,1,1,1,1,1
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
static int flag, data;

static void set(int *which, int value) {
    LOCK(lock);
    *which = value;
    UNLOCK(lock);
}

static int get(int *which) {
    LOCK(lock);
    int value = *which;
    UNLOCK(lock);
    return value;
}

static void *spinner(void *unused) {
    LATER();
    while (!get(&flag)) sched_yield();
    assert(get(&data) == 42);
    return unused;
}

int main(void) {
    pthread_t thread;
    START(thread, spinner);
#ifdef REPAIRED
    set(&data, 42);
    set(&flag, 1);
#else
    set(&flag, 1);
    set(&data, 42);
#endif
    JOIN(thread);
    return 0;
}
