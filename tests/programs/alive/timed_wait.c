// One waits with a time-out, the others for it: they only look dead.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
#include <errno.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static void *patient(void *x) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_mutex_lock(&held);
    pthread_mutex_lock(&lock);
    while (pthread_cond_timedwait(&never, &lock, &until) != ETIMEDOUT) {}
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&held);
    return x;
}
static void *follower(void *x) {
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
    return x;
}
int main(void) {
    pthread_t first = start(patient, 0), second = start(follower, 0);
    pthread_join(second, NULL);
    pthread_join(first, NULL);
    puts("timed out");
    return 0;
}
