// Sleeps for two seconds: the clock that never goes back shows it, even where nobody waited for them.
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void *body(void *unused) { return unused; }

int main(void) {
    pthread_t thread;
    long long before = now();
    sleep(2);
    long long between = now();
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
    long long after = now();
    puts(between - before >= 2000000000LL && after >= between ? "forwards" : "backwards");
    return 0;
}
