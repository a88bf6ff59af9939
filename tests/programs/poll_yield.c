// Threads wait for atomic flags by yielding and looking again; the order under a mutex must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sched_yield pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <sched.h>
#include <stdatomic.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int go, arrived;
static void *body(void *id) {
    for (int round = 1; round <= 20; round++) {
        atomic_fetch_add(&arrived, 1);
        while (atomic_load(&go) < round) sched_yield();
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
    for (int round = 1; round <= 20; round++) {
        while (atomic_load(&arrived) < 3 * round) sched_yield();
        atomic_store(&go, round);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
