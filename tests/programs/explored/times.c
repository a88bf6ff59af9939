// An hour of sleeps and time-outs, which nobody waits for; the clocks show that it passed. In every order all is well.
//@ flags: -pthread -g
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

static struct timespec in_an_hour(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 3600;
    return time;
}

static int is_past(struct timespec time) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec > time.tv_sec || (now.tv_sec == time.tv_sec && now.tv_nsec >= time.tv_nsec);
}

static void *sleeper(void *unused) {
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    sleep(3600);
    clock_gettime(CLOCK_MONOTONIC, &after);
    if (after.tv_sec - before.tv_sec < 3600) abort();
    printf("slept %ld\n", (long)(after.tv_sec - before.tv_sec));
    return unused;
}

static void *waiter(void *unused) {
    struct timespec until = in_an_hour();
    pthread_mutex_lock(&mutex);
    int result;
    do {
        result = pthread_cond_timedwait(&condition, &mutex, &until);
    } while (result == 0);
    if (result != ETIMEDOUT || !is_past(until)) abort();
    pthread_mutex_unlock(&mutex);
    until = in_an_hour();
    if (sem_timedwait(&semaphore, &until) != -1 || errno != ETIMEDOUT || !is_past(until)) abort();
    return unused;
}

int main(void) {
    pthread_t threads[2];
    sem_init(&semaphore, 0, 0);
    pthread_create(&threads[0], NULL, sleeper, NULL);
    pthread_create(&threads[1], NULL, waiter, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
