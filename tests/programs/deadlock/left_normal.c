// A thread ends without unlocking its mutex. Nobody else is left who could unlock it.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER;
static void *leaver(void *x) { return pthread_mutex_lock(&accounts), x; }
static void *waiter(void *x) { return pthread_mutex_lock(&accounts), x; }
int main(void) {
    pthread_join(start(leaver, 0), NULL);
    pthread_join(start(waiter, 0), NULL);
    return 0;
}
