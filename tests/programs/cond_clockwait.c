// Waits against the monotonic clock, named in the call or in the condition's attribute; which timed out must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cond_clockwait pthread_cond_timedwait pthread_cond_init pthread_cond_signal
#include "order.h"
#include <errno.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more;
static int items;
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 40; i++) {
        struct timespec at;
        int error = 0;
        pthread_mutex_lock(&lock);
        clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_nsec += 100000;
        if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
        while (items == 0 && error == 0)
            error = i % 2 ? pthread_cond_timedwait(&more, &lock, &at)
                          : pthread_cond_clockwait(&more, &lock, CLOCK_MONOTONIC, &at);
        if (items > 0) items--, note(id); else note(id + 10 * (error == ETIMEDOUT));
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&more, &attr);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 60; i++) {
        for (int j = 0; j < 5; j++) jitter();
        pthread_mutex_lock(&lock);
        items++;
        note(0);
        pthread_mutex_unlock(&lock);
        pthread_cond_signal(&more);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
