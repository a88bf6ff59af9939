// 10,000 threads, two at a time, so that one ends as the other begins; who took the mutex when must come back.
//@ flags: -pthread
#include "../order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned order = 2166136261u;
static int ran;
static void *body(void *id) {
    pthread_mutex_lock(&lock);
    order = (order ^ (unsigned)(long)id) * 16777619u;
    ran++;
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(void) {
    pthread_t two[2];
    for (long i = 0; i < 10000; i++) {
        if (i >= 2) pthread_join(two[i % 2], NULL);
        if (pthread_create(&two[i % 2], NULL, body, (void *)i) != 0) return 1;
    }
    pthread_join(two[0], NULL);
    pthread_join(two[1], NULL);
    printf("ran %d\norder %08x\n", ran, order);
    return 0;
}
