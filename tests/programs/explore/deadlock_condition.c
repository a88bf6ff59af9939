// Deadlock through a condition: who waits for it holds another lock, which the one who would signal needs.
// Decides: the consumer's lock of `shop` comes before the producer's.
//@ flags: -pthread
//@ ends: 122
//@ fails: 0,0,0,2,2,2,2,1
//@ replay: 3 times
#include "explore.h"

MUTEX(shop);
MUTEX(shelf);
CONDITION(filled);
static int goods;

static void *producer(void *unused) {
    LOCK(shop);
    LOCK(shelf);
    goods++;
    SIGNAL(filled);
    UNLOCK(shelf);
    UNLOCK(shop);
    return unused;
}

static void *consumer(void *unused) {
    MUCH_LATER();
#ifndef REPAIRED
    LOCK(shop);
#endif
    LOCK(shelf);
    while (goods == 0) WAIT(filled, shelf);
    goods--;
    UNLOCK(shelf);
#ifndef REPAIRED
    UNLOCK(shop);
#endif
    return unused;
}

int main(void) {
    pthread_t a, b;
    START(a, producer);
    START(b, consumer);
    JOIN(a);
    JOIN(b);
    return 0;
}
