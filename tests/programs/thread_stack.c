// Threads with a stack of 16 KiB take one mutex in some order; that order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_join pthread_mutex_lock pthread_mutex_unlock clock_gettime
#include "order.h"
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (int i = 0; i < 40; i++) {
        struct timespec now;
        jitter();
        clock_gettime(CLOCK_MONOTONIC, &now);
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        note((int)now.tv_nsec & 1);
        pthread_mutex_unlock(&lock);
    }
    return id;
}
int main(void) {
    pthread_t threads[4];
    pthread_attr_t attr;
    size_t size;
    pthread_attr_init(&attr);
    if (pthread_attr_setstacksize(&attr, 16384) != 0) return 1;
    for (long i = 0; i < 4; i++)
        if (pthread_create(&threads[i], &attr, body, (void *)(i + 1)) != 0) return 2;
    pthread_attr_getstacksize(&attr, &size);
    pthread_attr_destroy(&attr);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("%zu ", size);
    print_order();
    return 0;
}
