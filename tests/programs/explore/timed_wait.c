// A timed wait misread: the time is over, so the waiter thinks that nothing has come, and does not look.
// Decides: the time is over between the sender's unlock and its signal.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,1,2,2,2,1
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
CONDITION(arrived);
static int parcels, gone;

static void *waiter(void *unused) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 60;
    LOCK(lock);
    int result = 0;
    while (parcels == 0 && result == 0) result = pthread_cond_timedwait(&arrived, &lock, &until);
#ifdef REPAIRED
    if (parcels > 0) result = 0;
#endif
    if (result == ETIMEDOUT)
        gone = 1;
    else
        parcels--;
    assert(!gone || parcels == 0);
    UNLOCK(lock);
    return unused;
}

static void *sender(void *unused) {
    LATER();
    LOCK(lock);
    if (!gone) parcels++;
    UNLOCK(lock);
    SIGNAL(arrived);
    return unused;
}

int main(void) {
    pthread_t a, b;
    START(a, waiter);
    START(b, sender);
    JOIN(a);
    JOIN(b);
    return 0;
}
