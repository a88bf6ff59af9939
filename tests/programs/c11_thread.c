// C11 threads: exit, detach, sleep, yield, call_once and thread-specific storage; order and who ran the routine must return.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: thrd_create thrd_join thrd_detach thrd_exit thrd_sleep thrd_yield call_once tss_create tss_set tss_get
#include "order.h"
#include <threads.h>
#include <time.h>
static mtx_t lock;
static cnd_t ended;
static once_flag flags[20];
static tss_t key;
static int ends;
static _Thread_local int me;
static void routine(void) { note(me + 20); }
static void end(void *value) {
    mtx_lock(&lock);
    note((int)(long)value + 10);
    ends++;
    cnd_signal(&ended);
    mtx_unlock(&lock);
}
static int body(void *arg) {
    me = (int)(long)arg;
    tss_set(key, arg);
    for (int i = 0; i < 20; i++) {
        jitter();
        mtx_lock(&lock);
        call_once(&flags[i], routine);
        note((int)(long)tss_get(key));
        mtx_unlock(&lock);
        if (i % 4 == 0) thrd_sleep(&(struct timespec){0, 10000}, NULL);
        if (i % 4 == 2) thrd_yield();
    }
    if (me % 2) thrd_exit(me);
    return me;
}
int main(void) {
    thrd_t threads[4];
    int result;
    mtx_init(&lock, mtx_plain);
    cnd_init(&ended);
    tss_create(&key, end);
    for (int i = 0; i < 20; i++) flags[i] = (once_flag)ONCE_FLAG_INIT;
    for (long i = 0; i < 4; i++) thrd_create(&threads[i], body, (void *)(i + 1));
    thrd_detach(threads[3]);
    for (int i = 0; i < 3; i++) thrd_join(threads[i], &result), printf("%d", result);
    mtx_lock(&lock);
    while (ends < 4) cnd_wait(&ended, &lock);
    putchar(' ');
    print_order();
    return 0;
}
