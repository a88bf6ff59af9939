// A consumer is cancelled while it waits on a condition; what it had consumed, and its cleanup's place, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cancel pthread_cond_wait pthread_cond_signal pthread_join
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int items;
static void leave(void *id) { // holds the lock again
    note(30 + (int)(long)id);
    pthread_mutex_unlock(&lock);
}
static void *consume(void *id) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(leave, id);
    for (;;) {
        while (items == 0) pthread_cond_wait(&more, &lock);
        items--;
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
        jitter();
        pthread_mutex_lock(&lock);
    }
    pthread_cleanup_pop(0);
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, consume, (void *)(i + 1));
    for (int i = 0; i < 60; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        items++;
        note(0);
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
        if (i == 20 || i == 40) pthread_cancel(threads[i / 20]);
    }
    pthread_cancel(threads[0]);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        printf("%d", result == PTHREAD_CANCELED);
    }
    printf(" left %d ", items);
    print_order();
    return 0;
}
