// A mutex as a signal: whoever waits locks it again, two others unlock it, often when it is free. And one that is unlocked
// by another than its holder, then by its holder, too. What was unlocked and what was free must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <semaphore.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, filled = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lent = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static sem_t begun, asked, given;
static int jobs[128], first, last, made, waits;
static void put(int id) {
    sem_wait(&begun);
    for (int i = 0; i < 40; i++) {
        if (i % 3 == 0) jitter();
        pthread_mutex_lock(&lock);
        jobs[last++] = id;
        made++;
        pthread_mutex_unlock(&lock);
        if (i % 2) jitter();
        pthread_mutex_unlock(&filled);
    }
}
static void get(void) {
    for (int i = 0; i < 80; i++) {
        for (pthread_mutex_lock(&lock); made == 0 || waits == 0; pthread_mutex_lock(&lock)) {
            pthread_mutex_unlock(&lock);
            if (i % 2) jitter();
            pthread_mutex_lock(&filled);
            if (waits++ == 0) sem_post(&begun), sem_post(&begun);
        }
        note(jobs[first++]);
        made--;
        pthread_mutex_unlock(&lock);
    }
}
static void lend(int id) {
    for (int i = 0; i < 20; i++) {
        if (id == 1) {
            pthread_mutex_lock(&lent);
            sem_post(&asked);
            if (i % 2) sem_wait(&given);
            pthread_mutex_unlock(&lent);
            if (!(i % 2)) sem_wait(&given);
        } else {
            sem_wait(&asked);
            if (i % 2) pthread_mutex_unlock(&lent);
            sem_post(&given);
        }
    }
}
static void *body(void *argument) {
    int id = (int)(long)argument;
    if (id == 3) return get(), NULL;
    put(id);
    lend(id);
    return NULL;
}
int main(void) {
    sem_init(&begun, 0, 0);
    sem_init(&asked, 0, 0);
    sem_init(&given, 0, 0);
    run_threads(3, body);
    printf("%d waits ", waits);
    print_order();
    return 0;
}
