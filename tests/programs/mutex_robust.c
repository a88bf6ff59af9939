// Owners of a robust mutex die with it; who gets EOWNERDEAD, and the order, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_trylock pthread_mutex_consistent pthread_mutex_unlock
#include "order.h"
#include <errno.h>
static pthread_mutex_t lock;
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 20; i++) {
        jitter();
        int error = i % 3 ? pthread_mutex_lock(&lock) : pthread_mutex_trylock(&lock);
        if (error == EBUSY) continue;
        note(id);
        if (error == EOWNERDEAD) {
            note(id + 20);
            pthread_mutex_consistent(&lock);
        } else if (error != 0)
            return NULL;
        if (i == 5 + id) return NULL; // dies with it
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&lock, &attr);
    run_threads(6, body);
    int error = pthread_mutex_lock(&lock);
    printf("main %d ", error);
    pthread_mutex_unlock(&lock); // never made consistent: nobody can take it again
    printf("then %d ", pthread_mutex_lock(&lock) == ENOTRECOVERABLE);
    print_order();
    return 0;
}
