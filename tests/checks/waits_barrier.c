// A barrier for three, and two who come. Repaired: a barrier for two.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>

static pthread_barrier_t phase;

static void *worker(void *unused) {
    pthread_barrier_wait(&phase);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    killed_soon();
#ifdef REPAIRED
    pthread_barrier_init(&phase, NULL, 2);
#else
    pthread_barrier_init(&phase, NULL, 3);
#endif
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, worker, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
