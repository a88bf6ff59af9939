// The condition is signalled before the thread waits, and the thread does not look whether it has to. Repaired: it looks.
//@ flags: -pthread
//@ ends: 137
#include "watchdog.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int is_ready;

static void *waiter(void *unused) {
    after(1);
    pthread_mutex_lock(&lock);
#ifdef REPAIRED
    while (!is_ready)
#endif
        pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}

static __attribute__((noinline)) void prepare(void) {
    pthread_mutex_lock(&lock);
    is_ready = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
}

int main(void) {
    pthread_t thread;
    killed_soon();
    pthread_create(&thread, NULL, waiter, NULL);
    prepare();
    pass();
    pthread_join(thread, NULL);
    return 0;
}
