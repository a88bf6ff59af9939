// `once` reinvented: who finds that another has begun does not wait until it is done.
// Decides: the second caller's two locks come between the first one's `begun` and its `value =`.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,1,2,2,2,2
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
CONDITION(ready);
static int begun, value;

static void once(void) {
    LOCK(lock);
    int is_first = !begun;
    begun = 1;
#ifdef REPAIRED
    while (!is_first && value == 0) WAIT(ready, lock);
#endif
    UNLOCK(lock);
    if (!is_first) return;
    LOCK(lock);
    value = 7;
    BROADCAST(ready);
    UNLOCK(lock);
}

static void *user(void *late) {
    if (late) LATER();
    once();
    LOCK(lock);
    assert(value == 7);
    UNLOCK(lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, user, &lock);
    JOIN(a);
    JOIN(b);
    return 0;
}
