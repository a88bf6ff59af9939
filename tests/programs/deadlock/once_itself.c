// What is run once waits for itself to have run.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_once_t ready = PTHREAD_ONCE_INIT;
static void prepare(void) { pthread_once(&ready, prepare); }
int main(void) {
    pthread_once(&ready, prepare);
    return 0;
}
