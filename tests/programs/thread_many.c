// 300 threads, one generation after another, so that ids and stacks are used again; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_join
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
        jitter();
    }
    return NULL;
}
int main(void) {
    for (int generation = 0; generation < 60; generation++) run_threads(5, body);
    print_order();
    return 0;
}
