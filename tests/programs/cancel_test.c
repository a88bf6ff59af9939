// A thread that can be cancelled only where it says so; the round in which it was must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cancel pthread_testcancel pthread_setcancelstate
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    for (;;) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
        pthread_setcancelstate(before, NULL);
        pthread_testcancel();
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 60; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note(0);
        pthread_mutex_unlock(&lock);
        if (i % 20 == 19) pthread_cancel(threads[i / 20]);
    }
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        printf("%d", result == PTHREAD_CANCELED);
    }
    putchar(' ');
    print_order();
    return 0;
}
