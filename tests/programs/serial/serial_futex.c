// The order in which threads get a lock of the program's own, made of atomics and futexes, must come back; and who is too late.
//@ flags: -O1 -pthread
//@ replay: 20 times, same stdout
//@ covers: syscall
#include "../order.h"
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static _Atomic int word;
static int late[4];
static long futex(int how, int value, const struct timespec *time) {
    return syscall(SYS_futex, &word, how | FUTEX_PRIVATE_FLAG, value, time, NULL, 0);
}
static void take(long id, int round) {
    struct timespec soon = {.tv_nsec = 20000};
    int free = 0;
    if (atomic_compare_exchange_strong(&word, &free, 1)) return;
    while (atomic_exchange(&word, 2) != 0)
        if (futex(FUTEX_WAIT, 2, round % 3 ? NULL : &soon) < 0 && errno == ETIMEDOUT) late[id]++;
}
static void give(void) {
    if (atomic_exchange(&word, 0) == 2) futex(FUTEX_WAKE, 1, NULL);
}
static void *body(void *id) {
    for (int i = 0; i < 100; i++) {
        take((long)id, i);
        note((int)(long)id);
        if (i % 10 == 0) usleep(100);
        give();
        jitter();
        if (i % 16 == (int)(long)id) usleep(10);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    print_order();
    printf("%d %d %d %d\n", late[0], late[1], late[2], late[3]);
}
