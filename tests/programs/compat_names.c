// Old programs call the mutex functions by names with two underscores; order and outcomes must come back all the same.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: __pthread_mutex_lock __pthread_mutex_trylock __pthread_mutex_unlock __pthread_once
#include "order.h"
int old_lock(pthread_mutex_t *), old_trylock(pthread_mutex_t *), old_unlock(pthread_mutex_t *);
int old_once(pthread_once_t *, void (*)(void));
__asm__(".symver old_lock, __pthread_mutex_lock@GLIBC_2.2.5");
__asm__(".symver old_trylock, __pthread_mutex_trylock@GLIBC_2.2.5");
__asm__(".symver old_unlock, __pthread_mutex_unlock@GLIBC_2.2.5");
__asm__(".symver old_once, __pthread_once@GLIBC_2.2.5");
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once[60];
static unsigned outcomes[4];
static int ran_by[60];
static __thread int me, at;
static void routine(void) { ran_by[at] = me; }
static void *body(void *id) {
    me = (int)(long)id;
    for (at = 0; at < 60; at++) {
        jitter();
        old_once(&once[at], routine);
        if (at % 3 == 0) {
            int busy = old_trylock(&lock) != 0;
            outcomes[me] = outcomes[me] * 31 + (unsigned)busy;
            if (busy) continue;
        } else
            old_lock(&lock);
        note(me);
        old_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    for (int i = 0; i < 60; i++) once[i] = (pthread_once_t)PTHREAD_ONCE_INIT;
    run_threads(3, body);
    for (int i = 0; i < 60; i++) note(ran_by[i]);
    printf("%08x %08x %08x ", outcomes[1], outcomes[2], outcomes[3]);
    print_order();
    return 0;
}
