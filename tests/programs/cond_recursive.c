// Waits with a mutex that the waiter has locked twice, which no wait gives up; who came first must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cond_timedwait pthread_cond_signal pthread_mutex_lock
#include "order.h"
#include <time.h>
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static void *body(void *id) {
    for (int i = 0; i < 30; i++) {
        struct timespec until;
        int depth = 1 + (i + (int)(long)id) % 3;
        for (int j = 0; j < depth; j++) pthread_mutex_lock(&lock);
        note((int)(long)id);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 100000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        note(pthread_cond_timedwait(&cond, &lock, &until) == 0 ? 32 : 33);
        note((int)(long)id + 10);
        for (int j = 0; j < depth; j++) pthread_mutex_unlock(&lock);
        jitter();
        pthread_cond_signal(&cond);
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    print_order();
    return 0;
}
