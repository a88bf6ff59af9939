// Three threads use two locks in turn: many orders, and all is well in each.
//@ flags: -pthread -g
#include <pthread.h>

static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static int counts[2];

static void *count(void *unused) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&locks[i % 2]);
        counts[i % 2]++;
        pthread_mutex_unlock(&locks[i % 2]);
    }
    return unused;
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, count, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return counts[0] == 30 && counts[1] == 30 ? 0 : 1;
}
