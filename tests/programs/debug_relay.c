// Two workers take turns at an account, always in the same order: what a debugger shows of it is known beforehand.
//@ flags: -pthread -fno-inline
//@ replay: 20 times, same stdout
//@ covers: sem_wait sem_post pthread_mutex_lock pthread_join
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static sem_t turns[2];
static int balance = 100;

static void change(int by) {
    pthread_mutex_lock(&account);
#ifdef TALK // what a person adds who looks for a mistake
    printf("by %d\n", by);
#endif
    balance += by;
    pthread_mutex_unlock(&account);
}

static void *give(void *unused) {
    for (int i = 0; i < 5; i++) {
        sem_wait(&turns[0]);
        change(10);
        sem_post(&turns[1]);
    }
    return unused;
}

static void *take(void *unused) {
    for (int i = 0; i < 5; i++) {
        sem_wait(&turns[1]);
        change(-balance / 2);
        sem_post(&turns[0]);
    }
    return unused;
}

int main(void) {
    pthread_t giver, taker;
    sem_init(&turns[0], 0, 1);
    sem_init(&turns[1], 0, 0);
    pthread_create(&giver, NULL, give, NULL);
    pthread_create(&taker, NULL, take, NULL);
    pthread_join(giver, NULL);
    pthread_join(taker, NULL);
    printf("balance %d\n", balance);
    return 0;
}
