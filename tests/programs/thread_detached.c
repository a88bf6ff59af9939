// Threads born detached, and threads detached later; the order in which they report must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_detach pthread_cond_wait pthread_cond_signal
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static int finished;
static void *body(void *id) {
    if ((long)id > 4) pthread_detach(pthread_self());
    for (int i = 0; i < 10; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_lock(&lock);
    finished++;
    note((int)(long)id);
    pthread_cond_signal(&done);
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(void) {
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    for (long i = 1; i <= 6; i++) {
        pthread_t thread;
        if (pthread_create(&thread, i <= 2 ? &attr : NULL, body, (void *)i) != 0) return 1;
        if (i == 3 || i == 4) pthread_detach(thread);
    }
    pthread_mutex_lock(&lock);
    while (finished < 6) {
        note(0);
        pthread_cond_wait(&done, &lock);
    }
    print_order();
    pthread_mutex_unlock(&lock);
    return 0;
}
