// Threads read clocks between lock operations and act on what they read; readings and order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: clock_gettime gettimeofday time pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <sys/time.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long hash[4];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 60; i++) {
        struct timespec at;
        struct timeval day;
        jitter();
        clock_gettime(CLOCK_MONOTONIC, &at);
        gettimeofday(&day, NULL);
        for (long n = at.tv_nsec / 8 % 4; n > 0; n--) { // how often it locks depends on the clock
            pthread_mutex_lock(&lock);
            note(id);
            pthread_mutex_unlock(&lock);
        }
        hash[id] = (hash[id] ^ (unsigned long)at.tv_nsec ^ (unsigned long)day.tv_usec ^ (unsigned long)time(NULL)) * 16777619u;
    }
    return NULL;
}
int main(void) {
    run_threads(3, body);
    printf("%lx %lx %lx ", hash[1], hash[2], hash[3]);
    print_order();
    return 0;
}
