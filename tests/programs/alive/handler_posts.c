// Every thread waits for a semaphore; the handler of a timer's signal will post it.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
static sem_t go;
static void post(int number) {
    (void)number;
    sem_post(&go);
}
static void *waiter(void *x) {
    while (sem_wait(&go) != 0) {}
    sem_post(&go);
    return x;
}
int main(void) {
    sem_init(&go, 0, 0);
    signal(SIGALRM, post);
    struct itimerval once = {{0, 0}, {0, 100000}};
    setitimer(ITIMER_REAL, &once, NULL);
    pthread_t other = start(waiter, 0);
    while (sem_wait(&go) != 0) {}
    sem_post(&go);
    pthread_join(other, NULL);
    puts("posted");
    return 0;
}
