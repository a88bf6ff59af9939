// Which timed tries at a rwlock were too late must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock
#include "order.h"
#include <errno.h>
#include <time.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned outcomes[5], late[5];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 40; i++) {
        int write = (i + id) % 3 == 0, error;
        clockid_t clock = i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        struct timespec at;
        clock_gettime(clock, &at);
        at.tv_nsec += 15000;
        if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
        if (i % 2) error = write ? pthread_rwlock_clockwrlock(&lock, clock, &at) : pthread_rwlock_clockrdlock(&lock, clock, &at);
        else error = write ? pthread_rwlock_timedwrlock(&lock, &at) : pthread_rwlock_timedrdlock(&lock, &at);
        late[id] += error == ETIMEDOUT;
        if (error == 0) {
            if (write) note(id);
            else outcomes[id] = outcomes[id] * 31 + (unsigned)order_len;
            for (int j = 0; j < 4; j++) jitter();
            pthread_rwlock_unlock(&lock);
        }
        jitter();
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    for (int i = 1; i < 5; i++) printf("%u %08x ", late[i], outcomes[i]);
    print_order();
    return 0;
}
