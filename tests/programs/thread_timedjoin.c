// How often pthread_timedjoin_np and pthread_clockjoin_np timed out must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_timedjoin_np pthread_clockjoin_np clock_gettime
#include "order.h"
#include <errno.h>
#include <time.h>
static void *body(void *id) {
    for (int i = 0; i < 60; i++) jitter();
    return (void *)((long)id * 3);
}
static struct timespec soon(clockid_t clock) {
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_nsec += 40000;
    if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
    return at;
}
int main(void) {
    pthread_t threads[6];
    for (long i = 0; i < 6; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 6; i++) {
        void *result = NULL;
        int late = 0, error;
        do {
            clockid_t clock = i % 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
            struct timespec at = soon(clock);
            if (i < 3)
                at = soon(CLOCK_REALTIME), error = pthread_timedjoin_np(threads[i], &result, &at);
            else
                error = pthread_clockjoin_np(threads[i], &result, clock, &at);
            late += error == ETIMEDOUT;
        } while (error == ETIMEDOUT);
        printf("thread %d: late %d times, error %d, result %ld\n", i + 1, late, error, (long)result);
    }
    return 0;
}
