// Signals and broadcasts sent without holding the mutex; the order of those woken must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cond_wait pthread_cond_signal pthread_cond_broadcast
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int items, closed;
static void *body(void *id) {
    pthread_mutex_lock(&lock);
    for (;;) {
        while (items == 0 && !closed) {
            pthread_cond_wait(&more, &lock);
            note((int)(long)id + 10);
        }
        if (items == 0) break;
        items--;
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
        jitter();
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 100; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        if (i < 99) items++; else closed = 1;
        pthread_mutex_unlock(&lock);
        if (i % 5 == 4) pthread_cond_broadcast(&more); else pthread_cond_signal(&more);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
