// Two bugs: an update is lost, which ends with status 3, and two locks are taken in two orders. Neither hides the other.
//@ flags: -pthread -g
#include <pthread.h>

static pthread_mutex_t total_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static int total;

static void add(void) {
    pthread_mutex_lock(&total_lock);
    int seen = total;
    pthread_mutex_unlock(&total_lock);
    pthread_mutex_lock(&total_lock);
    total = seen + 1;
    pthread_mutex_unlock(&total_lock);
}

static void both(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *forwards(void *unused) {
    add();
    both(&a, &b);
    return unused;
}

static void *backwards(void *unused) {
    add();
    both(&b, &a);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, forwards, NULL);
    pthread_create(&threads[1], NULL, backwards, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return total == 2 ? 0 : 3;
}
