// An alarm ends a loop of locking; how many rounds there were, in every thread, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: ualarm alarm sem_post sem_trywait signal pthread_sigmask pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t rung;
static int ended;
static void ring(int signal) {
    (void)signal;
    sem_post(&rung);
}
static void *body(void *id) {
    for (int more = 1; more;) {
        pthread_mutex_lock(&lock);
        if (order_len < ORDER_MAX / 2) note((int)(long)id);
        more = !ended;
        pthread_mutex_unlock(&lock);
        jitter();
    }
    return NULL;
}
int main(void) {
    pthread_t thread;
    sigset_t alarms, before;
    int rounds = 0;
    sem_init(&rung, 0, 0);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, &before);
    pthread_create(&thread, NULL, body, (void *)1L);
    pthread_sigmask(SIG_SETMASK, &before, NULL); // only main gets it
    signal(SIGALRM, ring);
    ualarm(2000, 0);
    for (int more = 1; more; rounds++) {
        pthread_mutex_lock(&lock);
        if (order_len < ORDER_MAX / 2) note(0);
        ended = sem_trywait(&rung) == 0;
        more = !ended;
        pthread_mutex_unlock(&lock);
    }
    pthread_join(thread, NULL);
    printf("rounds %d ", rounds);
    print_order();
    return 0;
}
