// A mutex is unlocked by a thread that never locked it. Repaired: who locks it unlocks it.
//@ flags: -pthread
#include <pthread.h>

static pthread_mutex_t door = PTHREAD_MUTEX_INITIALIZER;

static void *opener(void *unused) {
#ifndef REPAIRED
    pthread_mutex_unlock(&door);
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_mutex_lock(&door);
    pthread_create(&thread, NULL, opener, NULL);
    pthread_join(thread, NULL);
#ifdef REPAIRED
    pthread_mutex_unlock(&door);
#endif
    return 0;
}
