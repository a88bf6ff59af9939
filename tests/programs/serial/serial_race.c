// What threads read and write without any lock, with calls in between, must come back: which updates are lost.
//@ flags: -O1 -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create usleep
#include "../order.h"
#include <unistd.h>
static volatile long total, seen[4];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (int i = 0; i < 400; i++) {
        long before = total;
        if (i % 7 == 0) {
            pthread_mutex_lock(&lock);
            pthread_mutex_unlock(&lock);
        }
        if (i % 50 == (int)(long)id) usleep(50);
        jitter();
        total = before + 1;
        seen[(long)id] = seen[(long)id] * 31 + before;
    }
    return NULL;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%ld %lx %lx %lx %lx\n", total, seen[0], seen[1], seen[2], seen[3]);
}
