// pthread_kill interrupts threads that lock; the round in which each found what its handler posted must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_kill sigaction sem_post sem_trywait pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <semaphore.h>
#include <signal.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t hits[4][2], ready;
static __thread int me;
static void hit(int signal) { sem_post(&hits[me][signal == SIGUSR2]); }
static void *body(void *id) {
    int rounds = 0, seen = 0;
    me = (int)(long)id;
    sem_post(&ready);
    for (; seen != 3; rounds++) { // until both signals came
        pthread_mutex_lock(&lock);
        note(me);
        pthread_mutex_unlock(&lock);
        for (int i = 0; i < 2; i++)
            if (sem_trywait(&hits[me][i]) == 0) seen |= 1 << i;
        jitter();
    }
    return (void *)(long)rounds;
}
int main(void) {
    pthread_t threads[3];
    struct sigaction action = {.sa_handler = hit};
    for (int i = 0; i < 8; i++) sem_init(&hits[i / 2][i % 2], 0, 0);
    sem_init(&ready, 0, 0);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 3; i++) sem_wait(&ready);
    for (int i = 0; i < 6; i++) {
        for (int j = 0; j < 10; j++) jitter();
        pthread_kill(threads[i / 2], i % 2 ? SIGUSR2 : SIGUSR1);
    }
    for (int i = 0; i < 3; i++) {
        void *rounds;
        pthread_join(threads[i], &rounds);
        printf("%ld ", (long)rounds);
    }
    print_order();
    return 0;
}
