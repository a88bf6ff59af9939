// Five philosophers, each with the fork at its left first.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#define SEATS 5
static pthread_mutex_t forks[SEATS];
static void *dine(void *seat) {
    int here = (int)(long)seat;
    for (int meal = 0; meal < 5; meal++) {
        usleep(here / 2);
        pthread_mutex_lock(&forks[here]);
        usleep(200);
        pthread_mutex_lock(&forks[(here + 1) % SEATS]);
        pthread_mutex_unlock(&forks[here]);
        pthread_mutex_unlock(&forks[(here + 1) % SEATS]);
    }
    return NULL;
}
int main(void) {
    pthread_t diners[SEATS];
    for (int i = 0; i < SEATS; i++) pthread_mutex_init(&forks[i], NULL);
    for (long i = 0; i < SEATS; i++) pthread_create(&diners[i], NULL, dine, (void *)i);
    for (int i = 0; i < SEATS; i++) pthread_join(diners[i], NULL);
    puts("all have eaten");
    return 0;
}
