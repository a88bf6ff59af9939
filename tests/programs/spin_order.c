// The order in which a spin lock is taken, and which tries found it busy, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_spin_init pthread_spin_destroy pthread_spin_lock pthread_spin_trylock pthread_spin_unlock
#include "order.h"
#include <errno.h>
static pthread_spinlock_t lock;
static unsigned outcomes[4];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 100; i++) {
        jitter();
        if (i % 3 == 0) {
            int error = pthread_spin_trylock(&lock);
            outcomes[id] = outcomes[id] * 31 + (error == EBUSY);
            if (error) continue;
        } else
            pthread_spin_lock(&lock);
        note(id);
        if (i % 10 == 0) jitter();
        pthread_spin_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    run_threads(3, body);
    pthread_spin_destroy(&lock);
    for (int i = 1; i < 4; i++) printf("%08x ", outcomes[i]);
    print_order();
    return 0;
}
