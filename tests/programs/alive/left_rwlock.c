// A reader ends without unlocking, and has left that to another, which sleeps first; a writer waits.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static void *leaver(void *x) { return pthread_rwlock_rdlock(&table), x; }
static void *opener(void *x) {
    usleep(50000);
    pthread_rwlock_unlock(&table);
    return x;
}
int main(void) {
    pthread_join(start(leaver, 0), NULL);
    pthread_t last = start(opener, 0);
    pthread_rwlock_wrlock(&table);
    puts("written");
    pthread_rwlock_unlock(&table);
    pthread_join(last, NULL);
    return 0;
}
