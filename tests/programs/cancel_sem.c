// A thread is cancelled at a semaphore; how many it had taken before must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cancel sem_wait sem_post sem_getvalue
#include "order.h"
#include <semaphore.h>
static sem_t sem;
static int taken[3], cleaned[3];
static void clean(void *id) { cleaned[(long)id - 1] = taken[(long)id - 1] + 100; }
static void *take(void *id) {
    pthread_cleanup_push(clean, id);
    for (;;) {
        sem_wait(&sem);
        taken[(long)id - 1]++;
        jitter();
    }
    pthread_cleanup_pop(0);
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    int left;
    sem_init(&sem, 0, 0);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, take, (void *)(i + 1));
    for (int i = 0; i < 100; i++) {
        jitter();
        sem_post(&sem);
        if (i == 30 || i == 60) pthread_cancel(threads[i / 30 - 1]);
    }
    pthread_cancel(threads[2]);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        printf("%d/%d ", taken[i], cleaned[i]);
    }
    sem_getvalue(&sem, &left);
    printf("left %d\n", left);
    sem_destroy(&sem);
    return 0;
}
