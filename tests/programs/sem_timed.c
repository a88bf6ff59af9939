// Which timed waits for a semaphore were too late must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sem_timedwait sem_clockwait sem_post
#include "order.h"
#include <errno.h>
#include <semaphore.h>
#include <time.h>
static sem_t sem;
static unsigned outcomes[5], late[5];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 40; i++) {
        clockid_t clock = i % 3 == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        struct timespec at;
        clock_gettime(clock, &at);
        at.tv_nsec += 20000;
        if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
        int failed = i % 3 ? sem_clockwait(&sem, clock, &at) : sem_timedwait(&sem, &at);
        outcomes[id] = outcomes[id] * 31 + (unsigned)(failed ? errno : 0);
        late[id] += failed && errno == ETIMEDOUT;
        if (failed) continue;
        for (int j = 0; j < 4; j++) jitter();
        sem_post(&sem);
    }
    return NULL;
}
int main(void) {
    sem_init(&sem, 0, 1);
    run_threads(4, body);
    for (int i = 1; i < 5; i++) printf("%u %08x ", late[i], outcomes[i]);
    putchar('\n');
    return 0;
}
