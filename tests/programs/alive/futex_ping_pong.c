// Two threads wake each other 20000 times by futexes, and each waits at once: both seem to wait when one has been woken.
//@ flags: -pthread
//@ replay: 3 times
#include "alive.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
static _Atomic int turn;
static long futex(int how, int value, const struct timespec *time) {
    return syscall(SYS_futex, &turn, how, value, time, NULL, 0);
}
static void rally(int mine) {
    struct timespec soon = {.tv_nsec = 50000};
    for (int i = 0; i < 20000; i++) {
        for (int is; (is = turn) != mine;) futex(FUTEX_WAIT_PRIVATE, is, i % 64 == mine ? &soon : NULL);
        turn = !mine;
        futex(FUTEX_WAKE_PRIVATE, 1, NULL);
    }
}
static void *second(void *x) {
    rally(1);
    usleep(20000); // the first one joins it meanwhile
    return x;
}
int main(void) {
    pthread_t other = start(second, 0);
    rally(0);
    pthread_join(other, NULL);
    puts("even");
    return 0;
}
