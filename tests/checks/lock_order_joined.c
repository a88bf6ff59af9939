// Two threads take two mutexes in opposite orders. Repaired: the second is created when the first has been joined.
//@ flags: -pthread
#include "../programs/apart.h"
#include <pthread.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;

static void *one(void *unused) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    pass();
    return unused;
}

static void *two(void *unused) {
    after(1);
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return unused;
}

int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, one, NULL);
#ifdef REPAIRED
    pthread_join(first, NULL);
    pthread_create(&second, NULL, two, NULL);
#else
    pthread_create(&second, NULL, two, NULL);
    pthread_join(first, NULL);
#endif
    pthread_join(second, NULL);
    return 0;
}
