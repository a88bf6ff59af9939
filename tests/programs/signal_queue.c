// pthread_sigqueue sends values to threads that lock; which value was found in which round must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_sigqueue sigaction sem_post sem_trywait pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <semaphore.h>
#include <signal.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t came[3][5], ready;
static __thread int me;
static void hit(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    sem_post(&came[me][info->si_value.sival_int]);
}
static void *body(void *id) {
    me = (int)(long)id;
    sem_post(&ready);
    for (int seen = 0; seen < 5;) {
        pthread_mutex_lock(&lock);
        note(me);
        for (int i = 0; i < 5; i++)
            if (sem_trywait(&came[me][i]) == 0) note(10 * me + i), seen++;
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < 3; i++) jitter();
    }
    return NULL;
}
int main(void) {
    pthread_t threads[2];
    struct sigaction action = {.sa_sigaction = hit, .sa_flags = SA_SIGINFO | SA_RESTART};
    for (int i = 0; i < 15; i++) sem_init(&came[i / 5][i % 5], 0, 0);
    sem_init(&ready, 0, 0);
    sigaction(SIGRTMIN, &action, NULL);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 2; i++) sem_wait(&ready);
    for (int i = 0; i < 10; i++) {
        for (int j = 0; j < 10; j++) jitter();
        pthread_sigqueue(threads[i % 2], SIGRTMIN, (union sigval){.sival_int = i / 2});
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
