// Barrier misuse: two pairs of threads meet at one barrier for two, and may be paired wrongly.
// Decides: a stranger arrives at the barrier before the writer does.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,0,0,2,2,3,3,3,2,2
//@ replay: 3 times
#include "explore.h"

static pthread_barrier_t meeting, other;
MUTEX(lock);
static int data;

static void *writer(void *unused) {
    LOCK(lock);
    data = 42;
    UNLOCK(lock);
    pthread_barrier_wait(&meeting);
    return unused;
}

static void *reader(void *unused) {
    pthread_barrier_wait(&meeting);
    LOCK(lock);
    assert(data == 42);
    UNLOCK(lock);
    return unused;
}

static void *stranger(void *unused) {
    MUCH_LATER();
#ifdef REPAIRED
    pthread_barrier_wait(&other);
#else
    pthread_barrier_wait(&meeting);
#endif
    return unused;
}

int main(void) {
    pthread_t threads[4];
    pthread_barrier_init(&meeting, NULL, 2);
    pthread_barrier_init(&other, NULL, 2);
    START(threads[0], writer);
    START(threads[1], reader);
    START(threads[2], stranger);
    START(threads[3], stranger);
    for (int i = 0; i < 4; i++) JOIN(threads[i]);
    return 0;
}
