// C11 condition variables; who was woken, who timed out and the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: cnd_init cnd_wait cnd_timedwait cnd_signal cnd_broadcast cnd_destroy mtx_lock mtx_unlock
#include "order.h"
#include <threads.h>
#include <time.h>
static mtx_t lock;
static cnd_t more;
static int items, closed;
static int body(void *arg) {
    int id = (int)(long)arg;
    mtx_lock(&lock);
    while (!closed || items > 0) {
        struct timespec at;
        timespec_get(&at, TIME_UTC);
        at.tv_nsec += 50000;
        if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
        if (items > 0) items--, note(id);
        else if (id % 2) cnd_wait(&more, &lock), note(id + 10);
        else note(id + 20 * (cnd_timedwait(&more, &lock, &at) == thrd_timedout));
    }
    mtx_unlock(&lock);
    return 0;
}
int main(void) {
    thrd_t threads[4];
    mtx_init(&lock, mtx_plain);
    cnd_init(&more);
    for (long i = 0; i < 4; i++) thrd_create(&threads[i], body, (void *)(i + 1));
    for (int i = 0; i < 60; i++) {
        for (int j = 0; j < 4; j++) jitter();
        mtx_lock(&lock);
        items++;
        closed = i == 59;
        note(0);
        if (i % 8 == 7 || closed) cnd_broadcast(&more); else cnd_signal(&more);
        mtx_unlock(&lock);
    }
    for (int i = 0; i < 4; i++) thrd_join(threads[i], NULL);
    cnd_destroy(&more);
    print_order();
    return 0;
}
