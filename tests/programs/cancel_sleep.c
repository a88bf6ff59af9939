// Threads are cancelled in sleeps; how far each had come must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cancel usleep nanosleep clock_nanosleep
#include "order.h"
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void clean(void *id) {
    pthread_mutex_lock(&lock);
    note((int)(long)id + 30);
    pthread_mutex_unlock(&lock);
}
static void *body(void *id) {
    struct timespec nap = {0, 20000};
    pthread_cleanup_push(clean, id);
    for (;;) {
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
        if ((long)id == 1) usleep(20);
        if ((long)id == 2) nanosleep(&nap, NULL);
        if ((long)id == 3) clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    }
    pthread_cleanup_pop(0);
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 3; i++) {
        usleep(300);
        pthread_cancel(threads[i]);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
