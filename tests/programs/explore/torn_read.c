// A torn read: a version is read before and not after, so that what lies between may be of two times.
// Decides: the writer's sections come between the reader's second and third.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,1,1,1,2,2,2,2,2,2,2,2,2,1,1
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
static int version, low, high;

static int get(int *which) {
    LOCK(lock);
    int value = *which;
    UNLOCK(lock);
    return value;
}

static void add(int *which) {
    LOCK(lock);
    ++*which;
    UNLOCK(lock);
}

static void *writer(void *unused) {
    LATER();
    add(&version);
    add(&low);
    add(&high);
    add(&version);
    return unused;
}

static void *reader(void *unused) {
    int before, first, second;
    for (;; sched_yield()) {
        before = get(&version);
        first = get(&low);
        second = get(&high);
#ifdef REPAIRED
        if (get(&version) != before) continue;
#endif
        if (before % 2 == 0) break;
    }
    assert(first == second);
    return unused;
}

int main(void) {
    pthread_t a, b;
    START(a, reader);
    START(b, writer);
    JOIN(a);
    JOIN(b);
    return 0;
}
