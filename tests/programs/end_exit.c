// A thread that is not main calls exit while the others go on; its handlers print the order, which must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: exit atexit pthread_mutex_lock pthread_mutex_unlock
//@ ends: 3
#include "order.h"
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void last(void) {
    for (int i = 0; i < 5; i++) jitter();
    pthread_mutex_lock(&lock); // the others never get it again
    print_order();
}
static void *body(void *id) {
    for (int i = 0; i < 1000; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
        if (i == 50 && (long)id == 2) exit(3);
    }
    return NULL;
}
int main(void) {
    atexit(last);
    run_threads(4, body);
    for (;;) pthread_mutex_lock(&lock);
}
