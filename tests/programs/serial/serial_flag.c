// How often a thread yields, looks at a clock, or asks in vain until another has set a plain flag must come back.
//@ flags: -O1 -pthread
//@ replay: 20 times, same stdout
//@ covers: sched_yield clock_gettime
#include "../order.h"
#include <sched.h>
#include <time.h>
static volatile int flag, at;
static void *body(void *unused) {
    for (int i = 1; i <= 30; i++) {
        for (volatile int k = 0; k < 2000 * (i % 5); k++) continue;
        jitter();
        flag = i;
        while (at < i) sched_yield();
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    for (int i = 1; i <= 30; i++) {
        long looks = 0;
        struct timespec now;
        while (flag < i) {
            if (i % 2) sched_yield();
            else clock_gettime(CLOCK_MONOTONIC, &now);
            looks++;
        }
        printf("%ld ", looks);
        at = i;
    }
    pthread_join(thread, NULL);
    puts("");
}
