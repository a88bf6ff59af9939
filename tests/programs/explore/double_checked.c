// Double-checked initialisation: both looks are under the lock, but making and keeping are not one section.
// Decides: the second user's first lock comes before the first one's lock at `instance =`.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,1,2,2,2,2,2,2,1,1,1,0,0
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
static int made;
static int *instance;

static int *make(void) {
    static int instances[2];
    return &instances[made++ % 2];
}

static int *get(void) {
    LOCK(lock);
    int *seen = instance;
    UNLOCK(lock);
    if (seen) return seen;
#ifdef REPAIRED
    LOCK(lock);
    if (!instance) instance = make();
#else
    seen = make();
    LOCK(lock);
    instance = seen;
#endif
    seen = instance;
    UNLOCK(lock);
    return seen;
}

static void *user(void *late) {
    if (late) LATER();
    assert(get());
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, user, NULL);
    pthread_create(&b, NULL, user, &lock);
    JOIN(a);
    JOIN(b);
    assert(made == 1);
    return 0;
}
