// Readers and writers of one rwlock; the order of writers, and the version each reader saw, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_rwlock_init pthread_rwlock_destroy pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_unlock
#include "order.h"
static pthread_rwlock_t lock;
static unsigned seen[6];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 60; i++) {
        jitter();
        if ((i + id) % 4 == 0) {
            pthread_rwlock_wrlock(&lock);
            note(id);
        } else {
            pthread_rwlock_rdlock(&lock);
            seen[id] = seen[id] * 31 + (unsigned)order_len;
            if (i % 8 == 0) jitter();
        }
        pthread_rwlock_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_rwlock_init(&lock, NULL);
    run_threads(5, body);
    pthread_rwlock_destroy(&lock);
    for (int i = 1; i < 6; i++) printf("%08x ", seen[i]);
    print_order();
    return 0;
}
