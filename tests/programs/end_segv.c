// The thread that logs the hundredth entry prints the order and writes to address zero; order and end must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_unlock
//@ ends: 139
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *volatile nowhere;
static void *body(void *id) {
    for (;;) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        if (order_len == 100) {
            print_order();
            fflush(stdout);
            *nowhere = 1;
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    return 0;
}
