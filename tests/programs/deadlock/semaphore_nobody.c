// A thread takes a semaphore three times, but it is posted only twice.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
#include <semaphore.h>
static sem_t permits;
static void *taker(void *x) {
    for (int i = 0; i < 3; i++) sem_wait(&permits);
    return x;
}
int main(void) {
    sem_init(&permits, 0, 0);
    pthread_t other = start(taker, 0);
    sem_post(&permits);
    sem_post(&permits);
    pthread_join(other, NULL);
    return 0;
}
