// Whoever has the spinlock sleeps with it; the others spin. One of them unlocks what another has locked.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
static pthread_spinlock_t busy, gate;
static void *worker(void *x) {
    for (int round = 0; round < 3; round++) {
        pthread_spin_lock(&busy);
        usleep(2000);
        pthread_spin_unlock(&busy);
    }
    return x;
}
static void *opener(void *x) {
    usleep(30000);
    pthread_spin_unlock(&gate);
    return x;
}
int main(void) {
    pthread_spin_init(&busy, 0);
    pthread_spin_init(&gate, 0);
    pthread_t threads[3];
    pthread_spin_lock(&gate);
    for (int at = 0; at < 3; at++) threads[at] = start(at ? worker : opener, 0);
    pthread_spin_lock(&gate);
    for (int at = 0; at < 3; at++) pthread_join(threads[at], NULL);
    puts("done");
    return 0;
}
