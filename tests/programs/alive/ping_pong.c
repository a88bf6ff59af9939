// Two threads wake each other 3000 times by signals, then 3000 times by posts: each is woken before it seems so.
//@ flags: -pthread
//@ replay: 3 times
#include "alive.h"
#include <semaphore.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static sem_t ping, pong;
static int turn;
static void *second(void *x) {
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&lock);
        while (turn != 1) pthread_cond_wait(&turned, &lock);
        turn = 0;
        pthread_cond_signal(&turned);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < 3000; i++) {
        sem_wait(&ping);
        sem_post(&pong);
    }
    return x;
}
int main(void) {
    sem_init(&ping, 0, 0);
    sem_init(&pong, 0, 0);
    pthread_t other = start(second, 0);
    for (int i = 0; i < 3000; i++) {
        pthread_mutex_lock(&lock);
        while (turn != 0) pthread_cond_wait(&turned, &lock);
        turn = 1;
        pthread_cond_signal(&turned);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < 3000; i++) {
        sem_post(&ping);
        sem_wait(&pong);
    }
    pthread_join(other, NULL);
    puts("even");
    return 0;
}
