// A pointer that is looked at, taken away by another thread, and used: the crash must come back, in the same round.
//@ flags: -O1 -g -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create sched_yield
//@ ends: 139
#include "../order.h"
#include <sched.h>
static int *volatile shared;
static void *takes(void *unused) {
    for (;;) {
        jitter();
        shared = NULL;
        sched_yield();
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    int value = 0;
    setvbuf(stdout, NULL, _IONBF, 0);
    pthread_create(&thread, NULL, takes, NULL);
    for (int round = 0; round < 100000; round++) {
        shared = &value;
        sched_yield();
        if (shared == NULL) {
            printf("%d ", round); // taken away in time
            continue;
        }
        jitter();
        if (round % 3 == 0) sched_yield();
        *shared = round; // not always there any more
    }
    return 0;
}
