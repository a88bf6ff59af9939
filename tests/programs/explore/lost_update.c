// Lost update: one variable is read under a lock and written under the same lock, but the lock is let go in between.
// Decides: the second deposit's first lock comes before the first deposit's second one.
//@ flags: -pthread
//@ ends: 3
//@ fails: 0,0,0,1,1,1,2,2,2,2,2,2,1,1,1,0,0,0
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
static int balance;

static void deposit(int amount) {
    LOCK(lock);
    int seen = balance;
#ifndef REPAIRED
    UNLOCK(lock);
    LOCK(lock);
#endif
    balance = seen + amount;
    UNLOCK(lock);
}

static void *first(void *unused) {
    deposit(10);
    return unused;
}

static void *second(void *unused) {
    LATER();
    deposit(20);
    return unused;
}

int main(void) {
    pthread_t a, b;
    START(a, first);
    START(b, second);
    JOIN(a);
    JOIN(b);
    return balance == 30 ? 0 : 3;
}
