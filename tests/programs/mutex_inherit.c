// A priority-inheriting mutex; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock
#include "order.h"
static pthread_mutex_t lock;
static void *body(void *id) {
    for (int i = 0; i < 60; i++) {
        jitter();
        if (i % 5 == 0 && pthread_mutex_trylock(&lock) != 0) continue;
        if (i % 5 != 0) pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    if (pthread_mutex_init(&lock, &attr) != 0) return 1;
    run_threads(3, body);
    print_order();
    return 0;
}
