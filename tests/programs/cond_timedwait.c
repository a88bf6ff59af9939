// Waits that time out and waits that are woken; which was which must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cond_timedwait pthread_cond_signal clock_gettime
#include "order.h"
#include <errno.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int items;
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 40; i++) {
        struct timespec at;
        clock_gettime(CLOCK_REALTIME, &at);
        at.tv_nsec += 100000;
        if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
        pthread_mutex_lock(&lock);
        int error = 0;
        while (items == 0 && error == 0) error = pthread_cond_timedwait(&more, &lock, &at);
        if (items > 0) items--, note(id); else note(id + 10 * (error == ETIMEDOUT));
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 60; i++) {
        for (int j = 0; j < 5; j++) jitter();
        pthread_mutex_lock(&lock);
        items++;
        note(0);
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
