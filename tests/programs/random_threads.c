// Threads that draw random numbers and act on them; numbers and order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: getrandom arc4random_uniform pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <stdlib.h>
#include <sys/random.h>
static pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static unsigned hash[3], drawn[4];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 60; i++) {
        unsigned number;
        if (getrandom(&number, sizeof number, 0) != sizeof number) return arg;
        drawn[id] = drawn[id] * 31 + number;
        int at = (int)arc4random_uniform(3);
        pthread_mutex_lock(&locks[at]);
        hash[at] = hash[at] * 31 + (unsigned)id;
        pthread_mutex_unlock(&locks[at]);
    }
    return NULL;
}
int main(void) {
    run_threads(3, body);
    printf("%08x %08x %08x %08x %08x %08x\n", hash[0], hash[1], hash[2], drawn[1], drawn[2], drawn[3]);
    return 0;
}
