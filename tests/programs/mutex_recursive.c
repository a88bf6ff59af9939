// A recursive mutex taken up to four deep, by lock and by trylock; the order and the depths must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock
#include "order.h"
static pthread_mutex_t lock;
static void *body(void *id) {
    for (int i = 0; i < 60; i++) {
        int depth = 0;
        jitter();
        for (; depth <= i % 4; depth++) {
            if (depth == 2 ? pthread_mutex_trylock(&lock) : pthread_mutex_lock(&lock)) return id;
            note((int)(long)id * 4 + depth);
        }
        while (depth-- > 0) {
            pthread_mutex_unlock(&lock);
            if (depth > 0) note((int)(long)id);
        }
    }
    return NULL;
}
int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attr);
    pthread_mutexattr_destroy(&attr);
    run_threads(3, body);
    print_order();
    return 0;
}
