// A thread locks a mutex that it holds.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_mutex_t once_only = PTHREAD_MUTEX_INITIALIZER;
static void again(void) { pthread_mutex_lock(&once_only); }
int main(void) {
    pthread_mutex_lock(&once_only);
    again();
    return 0;
}
