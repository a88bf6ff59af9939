// A thread ends without unlocking its mutex, and has left that to another, which sleeps first.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static void *leaver(void *x) { return pthread_mutex_lock(&gate), x; }
static void *opener(void *x) {
    usleep(50000);
    pthread_mutex_unlock(&gate);
    return x;
}
int main(void) {
    pthread_join(start(leaver, 0), NULL);
    pthread_t last = start(opener, 0);
    pthread_mutex_lock(&gate);
    puts("open");
    pthread_mutex_unlock(&gate);
    pthread_join(last, NULL);
    return 0;
}
