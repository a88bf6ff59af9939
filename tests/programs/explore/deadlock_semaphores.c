// Deadlock through semaphores: two counters of free places are used up in different orders.
// Decides: each takes its first place before the other takes its second one.
//@ flags: -pthread
//@ ends: 122
//@ fails: 0,0,0,1,1,2,2
//@ replay: 3 times
#include "explore.h"

static sem_t ports, buffers;

static void *sender(void *unused) {
    sem_wait(&ports);
    sem_wait(&buffers);
    sem_post(&buffers);
    sem_post(&ports);
    return unused;
}

static void *receiver(void *unused) {
    LATER();
#ifdef REPAIRED
    sem_wait(&ports);
    sem_wait(&buffers);
#else
    sem_wait(&buffers);
    sem_wait(&ports);
#endif
    sem_post(&ports);
    sem_post(&buffers);
    return unused;
}

int main(void) {
    pthread_t a, b;
    sem_init(&ports, 0, 1);
    sem_init(&buffers, 0, 1);
    START(a, sender);
    START(b, receiver);
    JOIN(a);
    JOIN(b);
    return 0;
}
