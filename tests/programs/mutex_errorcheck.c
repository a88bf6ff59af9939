// An errorcheck mutex: EDEADLK to its owner, EPERM to everyone else, and the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock
#include "order.h"
#include <errno.h>
static pthread_mutex_t lock;
static int denied[4], busy[4];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 60; i++) {
        jitter();
        denied[id] += pthread_mutex_unlock(&lock) == EPERM;
        if (pthread_mutex_lock(&lock)) return arg;
        note(id);
        denied[id] += pthread_mutex_lock(&lock) == EDEADLK;
        busy[id] += pthread_mutex_trylock(&lock) == EBUSY;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&lock, &attr);
    run_threads(3, body);
    for (int i = 1; i < 4; i++) printf("%d %d ", denied[i], busy[i]);
    print_order();
    return 0;
}
