// The main thread spins on a word until another one sets it, without any call.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int flag;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *setter(void *unused) {
    pthread_mutex_lock(&mutex);
    flag = 1;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, setter, NULL);
    while (!flag) {}
    puts("seen");
    pthread_join(thread, NULL);
    return 0;
}
