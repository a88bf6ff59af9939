// C11 mutexes, plain, recursive and timed; the order and the outcome of tries must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: mtx_init mtx_lock mtx_trylock mtx_timedlock mtx_unlock mtx_destroy thrd_create thrd_join timespec_get
#include "order.h"
#include <threads.h>
#include <time.h>
static mtx_t plain, timed, recursive;
static unsigned outcomes[4];
static int body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 50; i++) {
        struct timespec at;
        jitter();
        mtx_lock(&plain);
        note(id);
        mtx_unlock(&plain);
        int tried = mtx_trylock(&recursive);
        if (tried == thrd_success) {
            mtx_lock(&recursive);
            jitter();
            mtx_unlock(&recursive);
            mtx_unlock(&recursive);
        }
        timespec_get(&at, TIME_UTC);
        at.tv_nsec += 10000;
        if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
        int waited = mtx_timedlock(&timed, &at);
        if (waited == thrd_success) {
            jitter();
            mtx_unlock(&timed);
        }
        outcomes[id] = outcomes[id] * 31 + (unsigned)(tried * 8 + waited);
    }
    return id * 3;
}
int main(void) {
    thrd_t threads[3];
    int sum = 0;
    mtx_init(&plain, mtx_plain);
    mtx_init(&timed, mtx_timed);
    mtx_init(&recursive, mtx_plain | mtx_recursive);
    for (long i = 0; i < 3; i++) thrd_create(&threads[i], body, (void *)(i + 1));
    for (int i = 0; i < 3; i++) {
        int result;
        thrd_join(threads[i], &result);
        sum += result;
    }
    mtx_destroy(&plain);
    printf("%d %08x %08x %08x ", sum, outcomes[1], outcomes[2], outcomes[3]);
    print_order();
    return 0;
}
