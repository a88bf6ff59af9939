// Which thread ran each once routine must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_once
#include "order.h"
static pthread_once_t once[40];
static int ran_by[40];
static __thread int me, at;
static void routine(void) {
    ran_by[at] = me;
    jitter();
}
static void *body(void *id) {
    me = (int)(long)id;
    for (at = 0; at < 40; at++) {
        jitter();
        pthread_once(&once[at], routine);
        if (ran_by[at] == 0) return id; // it must have been run by now
    }
    return NULL;
}
int main(void) {
    for (int i = 0; i < 40; i++) once[i] = (pthread_once_t)PTHREAD_ONCE_INIT;
    run_threads(4, body);
    for (int i = 0; i < 40; i++) note(ran_by[i]);
    print_order();
    return 0;
}
