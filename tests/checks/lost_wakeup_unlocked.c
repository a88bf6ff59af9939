// The flag is set and the condition signalled without the mutex, between the look and the wait. Repaired: with it.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t flag = PTHREAD_MUTEX_INITIALIZER;
static int is_ready;

static int look(int change) {
    pthread_mutex_lock(&flag);
    int seen = is_ready |= change;
    pthread_mutex_unlock(&flag);
    return seen;
}

static void *waiter(void *unused) {
    pthread_mutex_lock(&lock);
    while (!look(0)) {
        pass();
#ifndef REPAIRED
        after(2);
#endif
        pthread_cond_wait(&ready, &lock);
    }
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    killed_soon();
    pthread_create(&thread, NULL, waiter, NULL);
    after(1);
#ifdef REPAIRED
    pthread_mutex_lock(&lock);
#endif
    look(1);
    pthread_cond_broadcast(&ready);
    pass();
#ifdef REPAIRED
    pthread_mutex_unlock(&lock);
#endif
    pthread_join(thread, NULL);
    return 0;
}
