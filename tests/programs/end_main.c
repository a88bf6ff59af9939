// main returns while threads go on; what they had logged by then must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_mutex_lock pthread_mutex_unlock
//@ ends: 5
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (;;) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_t thread;
    for (long i = 1; i <= 3; i++) pthread_create(&thread, NULL, body, (void *)i);
    for (int i = 0; i < 60; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note(0);
        if (i < 59) pthread_mutex_unlock(&lock);
    }
    print_order();
    return 5;
}
