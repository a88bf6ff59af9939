// Handlers run in threads that wait on conditions and locks; the waits go on and the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cond_wait pthread_cond_signal pthread_kill sigaction sem_post sem_trywait
#include "order.h"
#include <semaphore.h>
#include <signal.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static sem_t hits;
static int items;
static void hit(int signal) {
    (void)signal;
    sem_post(&hits);
}
static void *body(void *id) {
    for (int i = 0; i < 40; i++) {
        pthread_mutex_lock(&lock);
        while (items == 0) pthread_cond_wait(&more, &lock);
        items--;
        note((int)(long)id);
        while (sem_trywait(&hits) == 0) note((int)(long)id + 10);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    struct sigaction action = {.sa_handler = hit};
    sem_init(&hits, 0, 0);
    sigaction(SIGUSR1, &action, NULL);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 120; i++) {
        jitter();
        if (i % 4 == 0 && i < 100) pthread_kill(threads[i / 4 % 3], SIGUSR1);
        pthread_mutex_lock(&lock);
        items++;
        note(0);
        pthread_cond_signal(&more);
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
