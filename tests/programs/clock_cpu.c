// The processor time of threads and of the process, asked by their own clocks, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: clock_gettime pthread_getcpuclockid clock_getcpuclockid pthread_create pthread_join
#include "order.h"
#include <time.h>
static long spent[4][20];
static void *body(void *id) {
    clockid_t mine;
    pthread_getcpuclockid(pthread_self(), &mine);
    for (int i = 0; i < 20; i++) {
        struct timespec at;
        jitter();
        clock_gettime(i % 2 ? mine : CLOCK_THREAD_CPUTIME_ID, &at);
        spent[(long)id][i] = at.tv_nsec;
    }
    return NULL;
}
int main(void) {
    clockid_t process;
    struct timespec at;
    run_threads(3, body);
    for (int id = 1; id < 4; id++)
        for (int i = 0; i < 20; i++) printf("%ld ", spent[id][i]);
    if (clock_getcpuclockid(0, &process) != 0) return 1;
    clock_gettime(process, &at);
    printf("%ld\n", at.tv_nsec);
    return 0;
}
