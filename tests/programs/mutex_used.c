// A mutex that somebody waits with for a condition cannot be destroyed, in a replay neither.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_destroy pthread_cond_wait pthread_cond_signal
#include "order.h"
#include <errno.h>
#include <unistd.h>
static pthread_mutex_t lock;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int waits, done;
static void *body(void *unused) {
    pthread_mutex_lock(&lock);
    for (waits = 1; !done;) pthread_cond_wait(&cond, &lock);
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    int wrong = 0;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        waits = done = 0;
        pthread_mutex_init(&lock, NULL);
        pthread_create(&thread, NULL, body, NULL);
        for (int is_there = 0; !is_there; usleep(100)) {
            pthread_mutex_lock(&lock);
            is_there = waits;
            pthread_mutex_unlock(&lock);
        }
        note(pthread_mutex_destroy(&lock) == EBUSY);
        pthread_mutex_lock(&lock);
        done = 1;
        pthread_mutex_unlock(&lock);
        pthread_cond_signal(&cond);
        pthread_join(thread, NULL);
        wrong += pthread_mutex_destroy(&lock) != 0;
    }
    print_order();
    return wrong;
}
