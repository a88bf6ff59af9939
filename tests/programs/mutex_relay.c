// A mutex locked by one thread and unlocked by another, like a binary semaphore; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
static pthread_mutex_t token = PTHREAD_MUTEX_INITIALIZER, reply = PTHREAD_MUTEX_INITIALIZER;
static void *ask(void *id) {
    for (int i = 0; i < 30; i++) {
        jitter();
        pthread_mutex_lock(&token); // whoever gets it, the server gives it back
        note((int)(long)id);
        pthread_mutex_unlock(&reply);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    pthread_mutex_lock(&reply);
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, ask, (void *)(i + 1));
    for (int i = 0; i < 90; i++) {
        pthread_mutex_lock(&reply);
        note(0);
        pthread_mutex_unlock(&token);
    }
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
