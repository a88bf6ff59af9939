// Three threads take an ordinary mutex; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_unlock pthread_mutex_init pthread_mutex_destroy pthread_create pthread_join
#include "order.h"
static pthread_mutex_t lock;
static void *body(void *id) {
    for (int i = 0; i < 100; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_mutex_init(&lock, NULL);
    run_threads(3, body);
    pthread_mutex_destroy(&lock);
    print_order();
    return 0;
}
