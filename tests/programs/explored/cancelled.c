// Threads are cancelled in a semaphore, a condition and a sleep: all end so, in every order.
//@ flags: -pthread -g
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static sem_t semaphore;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void unlock(void *unused) {
    (void)unused;
    pthread_mutex_unlock(&mutex);
}

static void *taker(void *unused) {
    sem_wait(&semaphore);
    return unused;
}

static void *waiter(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, NULL);
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(1);
    return unused;
}

static void *sleeper(void *unused) {
    for (;;) sleep(1);
    return unused;
}

int main(void) {
    void *(*bodies[])(void *) = {taker, waiter, sleeper};
    pthread_t threads[3];
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, bodies[i], NULL);
    for (int i = 0; i < 3; i++) pthread_cancel(threads[i]);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        if (result != PTHREAD_CANCELED) return 1;
    }
    return 0;
}
