// A barrier for three at which only two arrive.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
static pthread_barrier_t gate;
static void *arriver(void *x) {
    pthread_barrier_wait(&gate);
    return x;
}
int main(void) {
    pthread_barrier_init(&gate, NULL, 3);
    pthread_t other = start(arriver, 0);
    pthread_barrier_wait(&gate);
    pthread_join(other, NULL);
    return 0;
}
