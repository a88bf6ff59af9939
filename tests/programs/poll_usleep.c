// Threads wait for atomic flags by sleeping and looking again; the order under a mutex must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: usleep pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <stdatomic.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int go, arrived;
static void *body(void *id) {
    for (int round = 1; round <= 8; round++) {
        atomic_fetch_add(&arrived, 1);
        while (atomic_load(&go) < round) usleep(100);
        for (int i = 0; i < 5; i++) {
            jitter();
            pthread_mutex_lock(&lock);
            note((int)(long)id);
            pthread_mutex_unlock(&lock);
        }
    }
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int round = 1; round <= 8; round++) {
        while (atomic_load(&arrived) < 3 * round) usleep(100);
        atomic_store(&go, round);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
