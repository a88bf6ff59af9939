// An adaptive mutex, static and made by attribute; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
static pthread_mutex_t outer = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, inner;
static void *body(void *id) {
    for (int i = 0; i < 80; i++) {
        jitter();
        pthread_mutex_lock(&inner);
        pthread_mutex_lock(&outer);
        note((int)(long)id);
        pthread_mutex_unlock(&outer);
        pthread_mutex_unlock(&inner);
        jitter();
        pthread_mutex_lock(&outer);
        note((int)(long)id + 10);
        pthread_mutex_unlock(&outer);
    }
    return NULL;
}
int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(&inner, &attr);
    run_threads(3, body);
    print_order();
    return 0;
}
