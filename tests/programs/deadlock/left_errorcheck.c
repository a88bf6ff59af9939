// A thread ends without unlocking a mutex that only it can unlock. So it does not matter that others go on.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t accounts = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static void *leaver(void *x) { return pthread_mutex_lock(&accounts), x; }
static void *waiter(void *x) { return pthread_mutex_lock(&accounts), x; }
int main(void) {
    pthread_t first = start(leaver, 0);
    pthread_join(first, NULL);
    start(waiter, 0);
    for (;;) sleep(1);
}
