// What is run once takes its time, and takes what others have; they wait for it and for each other, and all come through.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
static pthread_once_t first = PTHREAD_ONCE_INIT, second = PTHREAD_ONCE_INIT;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static void inner(void) { usleep(20000); }
static void outer(void) {
    pthread_mutex_lock(&table);
    usleep(20000);
    pthread_once(&second, inner);
    pthread_mutex_unlock(&table);
}
static void *one(void *x) { return pthread_once(&first, outer), x; }
static void *two(void *x) {
    pthread_once(&second, inner);
    pthread_mutex_lock(&table);
    pthread_mutex_unlock(&table);
    pthread_once(&first, outer);
    return x;
}
int main(void) {
    pthread_t threads[6];
    for (int at = 0; at < 6; at++) threads[at] = start(at % 2 ? one : two, 0);
    for (int at = 0; at < 6; at++) pthread_join(threads[at], NULL);
    puts("ready");
    return 0;
}
