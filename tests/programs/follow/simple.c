// Two threads wait until three have counted; two others and the main thread count. Whoever wakes last leaves its number.
#include <pthread.h>
#include <stdio.h>
static int last, ready;
static pthread_cond_t counted = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, count_lock = PTHREAD_MUTEX_INITIALIZER;
static void *waiter(void *number) {
    pthread_mutex_lock(&lock);
    while (ready != 3) pthread_cond_wait(&counted, &lock);
    last = (int)(long)number;
    pthread_mutex_unlock(&lock);
    return NULL;
}
static void *counter(void *unused) {
    pthread_mutex_lock(&count_lock);
    ready++;
    pthread_mutex_unlock(&count_lock);
    pthread_cond_broadcast(&counted);
    return unused;
}
int main(void) {
    pthread_t threads[4];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, waiter, (void *)(i + 1));
    for (long i = 2; i < 4; i++) pthread_create(&threads[i], NULL, counter, NULL);
    ready++;
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    printf("last %d\n", last);
    return 0;
}
