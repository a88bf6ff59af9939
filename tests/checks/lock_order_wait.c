// A thread waits for a condition while it holds another mutex: it takes the condition's mutex again when it is woken,
// and that is the wrong order. Repaired: it gives the other one up before it waits.
//@ flags: -pthread
#include "../programs/apart.h"
#include <pthread.h>

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER, cache = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items;

static void *consumer(void *unused) {
    pthread_mutex_lock(&queue);
    pthread_mutex_lock(&cache);
#ifdef REPAIRED
    pthread_mutex_unlock(&cache);
#endif
    pass(); // whoever takes the queue's mutex from now on comes when this one waits
    while (items == 0) pthread_cond_wait(&filled, &queue);
#ifndef REPAIRED
    pthread_mutex_unlock(&cache);
#endif
    pthread_mutex_unlock(&queue);
    pass();
    return unused;
}

static void *producer(void *unused) {
    after(1);
    pthread_mutex_lock(&queue);
    items = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&queue);
    return unused;
}

static void *cleaner(void *unused) {
    after(2);
    pthread_mutex_lock(&queue);
    pthread_mutex_lock(&cache);
    pthread_mutex_unlock(&cache);
    pthread_mutex_unlock(&queue);
    return unused;
}

int main(void) {
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, consumer, NULL);
    pthread_create(&threads[1], NULL, producer, NULL);
    pthread_create(&threads[2], NULL, cleaner, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
