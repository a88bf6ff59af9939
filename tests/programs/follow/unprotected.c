// Three threads set a variable that nothing protects: the last one to run decides.
#include <pthread.h>
#include <stdio.h>
static int value = 10;
static void *set(void *to) {
    value = (int)(long)to;
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, set, (void *)(i + 1));
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("%d\n", value);
    return 0;
}
