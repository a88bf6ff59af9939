// One thread waits for another at a pipe, and spins on a flag without a call: Retake sees neither, and all goes on.
//@ flags: -pthread -g
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int ends[2];
static volatile int flag;

static void *reader(void *unused) {
    char byte;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    if (read(ends[0], &byte, 1) != 1) return NULL;
    while (!flag) {}
    return unused;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends) != 0) return 1;
    pthread_create(&thread, NULL, reader, NULL);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    if (write(ends[1], "x", 1) != 1) return 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    flag = 1;
    pthread_join(thread, NULL);
    return 0;
}
