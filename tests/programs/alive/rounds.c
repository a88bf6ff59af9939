// Four threads meet at a barrier a thousand times, with readers and writers in between.
//@ flags: -pthread
//@ replay: 3 times
#include "alive.h"
static pthread_barrier_t gate;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static long sum;
static void *body(void *x) {
    for (int i = 0; i < 1000; i++) {
        pthread_rwlock_rdlock(&table);
        long seen = sum;
        pthread_rwlock_unlock(&table);
        if (seen < 0) abort();
        pthread_rwlock_wrlock(&table);
        sum++;
        pthread_rwlock_unlock(&table);
        if (i % 4 == 0) pthread_barrier_wait(&gate);
    }
    return x;
}
int main(void) {
    pthread_barrier_init(&gate, NULL, 4);
    pthread_t all[4];
    for (int i = 0; i < 4; i++) all[i] = start(body, 0);
    for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
    printf("%ld\n", sum);
    return 0;
}
