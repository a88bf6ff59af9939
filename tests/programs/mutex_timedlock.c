// Which timed locks were too late must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_timedlock pthread_mutex_clocklock pthread_mutex_unlock clock_gettime
#include "order.h"
#include <errno.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int late[5];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 40; i++) {
        clockid_t clock = i % 3 == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
        struct timespec at;
        clock_gettime(clock, &at);
        at.tv_nsec += 20000;
        if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
        int error = i % 3 ? pthread_mutex_clocklock(&lock, clock, &at) : pthread_mutex_timedlock(&lock, &at);
        if (error == 0) {
            note(id);
            for (int j = 0; j < 4; j++) jitter();
            pthread_mutex_unlock(&lock);
        } else if (error == ETIMEDOUT)
            late[id]++;
        jitter();
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    for (int i = 1; i < 5; i++) printf("%d ", late[i]);
    print_order();
    return 0;
}
