// A semaphore is waited for twice and posted once. Repaired: twice.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>
#include <semaphore.h>

static sem_t items;

static void *consumer(void *unused) {
    sem_wait(&items);
    sem_wait(&items);
    return unused;
}

int main(void) {
    pthread_t thread;
    killed_soon();
    sem_init(&items, 0, 0);
    pthread_create(&thread, NULL, consumer, NULL);
    sem_post(&items);
#ifdef REPAIRED
    sem_post(&items);
#endif
    pthread_join(thread, NULL);
    return 0;
}
