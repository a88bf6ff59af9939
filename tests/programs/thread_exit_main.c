// main ends by pthread_exit, the other threads go on; whoever is last prints the order, which must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_detach pthread_exit
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int finished;
static void *body(void *id) {
    for (int i = 0; i < 30; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    if (++finished == 3) {
        printf("last %ld ", (long)id);
        print_order();
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) {
        pthread_create(&threads[i], NULL, body, (void *)(i + 1));
        pthread_detach(threads[i]);
    }
    pthread_mutex_lock(&lock);
    note(0);
    pthread_mutex_unlock(&lock);
    pthread_exit(NULL);
}
