// Threads spin on trylock until they get the mutex; how often each spun must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_trylock pthread_mutex_unlock sched_yield
#include "order.h"
#include <sched.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long spins[4];
static void *body(void *id) {
    for (int i = 0; i < 100; i++) {
        while (pthread_mutex_trylock(&lock) != 0) {
            spins[(long)id]++;
            if (i % 2) sched_yield();
        }
        note((int)(long)id);
        if (i % 4 == 0) jitter();
        pthread_mutex_unlock(&lock);
        jitter();
    }
    return NULL;
}
int main(void) {
    run_threads(3, body);
    printf("%ld %ld %ld ", spins[1], spins[2], spins[3]);
    print_order();
    return 0;
}
