// Threads wait for a deadline by reading the clock, and for each other by looking under the lock; rounds must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: clock_gettime pthread_mutex_lock pthread_mutex_unlock usleep
#include "order.h"
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static long looks[4], reads[4];
static long long now_ns(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000ll + at.tv_nsec;
}
static void *body(void *id) {
    long long end = now_ns() + 300000 * (long)id;
    while (now_ns() < end) reads[(long)id]++;
    pthread_mutex_lock(&lock);
    ready++;
    note((int)(long)id);
    pthread_mutex_unlock(&lock);
    for (int more = 1; more; looks[(long)id]++) {
        usleep(20);
        pthread_mutex_lock(&lock);
        more = ready < 3;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    run_threads(3, body);
    for (int i = 1; i < 4; i++) printf("%ld %ld ", reads[i], looks[i]);
    print_order();
    return 0;
}
