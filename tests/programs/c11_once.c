// Which C11 thread ran each call_once routine must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: call_once thrd_create thrd_join
#include "order.h"
#include <threads.h>
static once_flag flags[40];
static int ran_by[40];
static _Thread_local int me, at;
static void routine(void) {
    ran_by[at] = me;
    jitter();
}
static int body(void *arg) {
    me = (int)(long)arg;
    for (at = 0; at < 40; at++) {
        jitter();
        call_once(&flags[at], routine);
    }
    return 0;
}
int main(void) {
    thrd_t threads[4];
    for (int i = 0; i < 40; i++) flags[i] = (once_flag)ONCE_FLAG_INIT;
    for (long i = 0; i < 4; i++) thrd_create(&threads[i], body, (void *)(i + 1));
    for (int i = 0; i < 4; i++) thrd_join(threads[i], NULL);
    for (int i = 0; i < 40; i++) note(ran_by[i]);
    print_order();
    return 0;
}
