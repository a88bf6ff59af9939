// A semaphore as a lock, and a semaphore as a counter; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sem_init sem_destroy sem_wait sem_post sem_getvalue
#include "order.h"
#include <semaphore.h>
static sem_t lock, items;
static void *produce(void *id) {
    for (int i = 0; i < 40; i++) {
        jitter();
        sem_wait(&lock);
        note((int)(long)id);
        sem_post(&lock);
        sem_post(&items);
    }
    return NULL;
}
static void *consume(void *id) {
    for (int i = 0; i < 40; i++) {
        int value;
        sem_wait(&items);
        sem_wait(&lock);
        sem_getvalue(&items, &value);
        note((int)(long)id);
        note(value + 10);
        sem_post(&lock);
    }
    return NULL;
}
static void *body(void *id) { return (long)id % 2 ? produce(id) : consume(id); }
int main(void) {
    sem_init(&lock, 0, 1);
    sem_init(&items, 0, 0);
    run_threads(4, body);
    sem_destroy(&lock);
    sem_destroy(&items);
    print_order();
    return 0;
}
