// Deadlock of five: five philosophers take the fork at their left, then the one at their right.
// Decides: each has its left fork before anybody takes a right one.
//@ flags: -pthread
//@ ends: 122
//@ fails: 0,0,0,0,0,0,1,1,2,2,3,3,4,4,5,5
//@ replay: 3 times
#include "explore.h"

enum { SEATS = 5 };
static pthread_mutex_t forks[SEATS];

static void *philosopher(void *seat) {
    int left = (int)(long)seat, right = (left + 1) % SEATS;
#ifdef REPAIRED
    if (left > right) {
        right = left;
        left = 0;
    }
#endif
    for (int naps = 0; naps < (int)(long)seat; naps++) LATER();
    LOCK(forks[left]);
    LOCK(forks[right]);
    UNLOCK(forks[right]);
    UNLOCK(forks[left]);
    return NULL;
}

int main(void) {
    pthread_t threads[SEATS];
    for (long i = 0; i < SEATS; i++) pthread_mutex_init(&forks[i], NULL);
    for (long i = 0; i < SEATS; i++) pthread_create(&threads[i], NULL, philosopher, (void *)i);
    for (long i = 0; i < SEATS; i++) JOIN(threads[i]);
    return 0;
}
