// One thread locks a, then b; two others, made by a helper thread, lock b, then a.
#include <pthread.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *forwards(void *unused) {
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return unused;
}
static void *backwards(void *unused) {
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return unused;
}
static void *helper(void *unused) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, backwards, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return unused;
}
int main(void) {
    pthread_t first, second;
    pthread_create(&first, NULL, helper, NULL);
    pthread_create(&second, NULL, forwards, NULL);
    pthread_join(second, NULL);
    pthread_join(first, NULL);
    return 0;
}
