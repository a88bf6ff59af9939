// Which thread is the serial one at each barrier must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_barrier_init pthread_barrier_wait pthread_barrier_destroy
#include "order.h"
static pthread_barrier_t barrier;
static void *body(void *id) {
    for (int i = 0; i < 50; i++) {
        jitter();
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD) note((int)(long)id);
        pthread_barrier_wait(&barrier); // only one writer of the log at a time
    }
    return NULL;
}
int main(void) {
    pthread_barrier_init(&barrier, NULL, 4);
    run_threads(4, body);
    pthread_barrier_destroy(&barrier);
    print_order();
    return 0;
}
