// A queue with `if` instead of `while`: who was woken takes for granted that the queue is not empty any more.
// Decides: the second consumer's lock comes between the signal and the end of the first one's wait.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,1,0,0,0,2,2,2,1
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
CONDITION(filled);
static int items;

static void take(void) {
    LOCK(lock);
#ifdef REPAIRED
    while (items == 0) WAIT(filled, lock);
#else
    if (items == 0) WAIT(filled, lock);
#endif
    assert(items > 0);
    items--;
    UNLOCK(lock);
}

static void put(void) {
    LOCK(lock);
    items++;
    SIGNAL(filled);
    UNLOCK(lock);
}

static void *consumer(void *naps) {
    for (long i = 0; i < (long)naps; i++) LATER();
    take();
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, consumer, (void *)0);
    pthread_create(&b, NULL, consumer, (void *)3);
    LATER();
    put();
    LATER();
    put();
    JOIN(a);
    JOIN(b);
    return 0;
}
