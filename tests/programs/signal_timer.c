// A timer's handler posts; in which round of a locking loop each post was found must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: setitimer sigaction sem_post sem_wait sem_trywait pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t ticks;
static void tick(int signal) {
    (void)signal;
    sem_post(&ticks);
}
int main(void) {
    struct sigaction action = {.sa_handler = tick};
    struct itimerval every = {{0, 300}, {0, 300}};
    int seen = 0, waited = 0;
    sem_init(&ticks, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    for (int round = 0; seen < 10; round++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
        if (sem_trywait(&ticks) == 0) {
            printf("%d ", round);
            seen++;
        }
    }
    for (int i = 0; i < 10; i++)
        while (sem_wait(&ticks) != 0) waited += errno == EINTR;
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    printf("waited %d\n", waited);
    return 0;
}
