// Everybody waits for one that sleeps, then posts.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
#include <semaphore.h>
static sem_t go;
static void *sleeper(void *x) {
    usleep(100000);
    for (int i = 0; i < 3; i++) sem_post(&go);
    return x;
}
static void *waiter(void *x) {
    sem_wait(&go);
    return x;
}
int main(void) {
    sem_init(&go, 0, 0);
    pthread_t all[3] = {start(waiter, 0), start(waiter, 0), start(sleeper, 0)};
    sem_wait(&go);
    for (int i = 0; i < 3; i++) pthread_join(all[i], NULL);
    puts("woken");
    return 0;
}
