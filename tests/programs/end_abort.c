// The thread that logs the hundredth entry prints the order and aborts; order and end must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: abort pthread_mutex_lock pthread_mutex_unlock
//@ ends: 134
#include "order.h"
#include <stdlib.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (;;) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        if (order_len == 100) {
            print_order();
            fflush(stdout);
            abort();
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    return 0;
}
