// How often pthread_tryjoin_np found each thread busy must come back, and what each thread returned.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_tryjoin_np
#include "order.h"
#include <errno.h>
#include <stdlib.h>
static void *body(void *id) {
    for (int i = 0; i < 10 * (int)(long)id; i++) jitter();
    return (void *)((long)id * 7);
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 3; i >= 0; i--) {
        void *result = NULL;
        int busy = 0, error;
        while ((error = pthread_tryjoin_np(threads[i], &result)) == EBUSY) {
            busy++;
            jitter();
        }
        printf("thread %d: busy %d times, error %d, result %ld\n", i + 1, busy, error, (long)result);
    }
    return 0;
}
