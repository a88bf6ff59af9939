// Threads are cancelled while they wait for another thread to end; the order of cleanups and ends must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cancel pthread_join sem_wait sem_post
#include "order.h"
#include <semaphore.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t go;
static pthread_t sleeper[4];
static void say(int id) {
    jitter();
    pthread_mutex_lock(&lock);
    note(id);
    pthread_mutex_unlock(&lock);
}
static void clean(void *id) { say((int)(long)id + 10); }
static void *sleep_on(void *id) {
    say((int)(long)id);
    sem_wait(&go);
    say((int)(long)id + 20);
    return NULL;
}
static void *wait_for(void *id) {
    say((int)(long)id + 4);
    pthread_cleanup_push(clean, id);
    pthread_join(sleeper[(long)id - 1], NULL);
    pthread_cleanup_pop(0);
    return NULL;
}
int main(void) {
    pthread_t waiter[4];
    sem_init(&go, 0, 0);
    for (long i = 0; i < 4; i++) pthread_create(&sleeper[i], NULL, sleep_on, (void *)(i + 1));
    for (long i = 0; i < 4; i++) pthread_create(&waiter[i], NULL, wait_for, (void *)(i + 1));
    for (int i = 0; i < 4; i++) jitter(), pthread_cancel(waiter[i]);
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(waiter[i], &result);
        printf("%d", result == PTHREAD_CANCELED);
    }
    for (int i = 0; i < 4; i++) sem_post(&go);
    for (int i = 0; i < 4; i++) pthread_join(sleeper[i], NULL);
    putchar(' ');
    print_order();
    return 0;
}
