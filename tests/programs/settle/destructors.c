// Each thread ends with a destructor that takes its time; what the thread that joins it finds depends on that.
//@ flags: -pthread
//@ replay: 20 times, same stdout
#include <pthread.h>
#include <stdio.h>
enum { THREADS = 6 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static char order[4 * THREADS + 1];
static int many;
static void log_in(char who) {
    pthread_mutex_lock(&lock);
    order[many++] = who;
    pthread_mutex_unlock(&lock);
}
static void end(void *name) {
    for (volatile int i = 0; i < 1000000; i++) {}
    log_in(*(char *)name);
    for (volatile int i = 0; i < 1000000; i++) {}
}
static void *body(void *name) {
    pthread_setspecific(key, name);
    log_in(*(char *)name);
    return NULL;
}
int main(void) {
    pthread_t threads[THREADS];
    char names[] = "abcdef";
    pthread_key_create(&key, end);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, body, &names[i]);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL), log_in('-');
    printf("%s\n", order);
    return 0;
}
