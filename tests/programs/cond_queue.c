// Producers and consumers around a queue of four places; who consumed what, in which order, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cond_init pthread_cond_destroy pthread_cond_wait pthread_cond_signal
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_full, not_empty;
static int queue[4], first, length;
static void put(int item) {
    pthread_mutex_lock(&lock);
    while (length == 4) pthread_cond_wait(&not_full, &lock);
    queue[(first + length++) % 4] = item;
    note(item);
    pthread_cond_signal(&not_empty);
    pthread_mutex_unlock(&lock);
}
static int take(int id) {
    pthread_mutex_lock(&lock);
    while (length == 0) pthread_cond_wait(&not_empty, &lock);
    int item = queue[first];
    first = (first + 1) % 4, length--;
    note(id * 10 + item);
    pthread_cond_signal(&not_full);
    pthread_mutex_unlock(&lock);
    return item;
}
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 80; i++) {
        if (i % 3 == 0) jitter();
        if (id <= 2) put(id); else take(id);
    }
    return NULL;
}
int main(void) {
    pthread_cond_init(&not_full, NULL);
    pthread_cond_init(&not_empty, NULL);
    run_threads(4, body);
    pthread_cond_destroy(&not_full);
    pthread_cond_destroy(&not_empty);
    print_order();
    return 0;
}
