// The main thread reads what another one writes, and it could have come from elsewhere.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *writer(void *unused) {
    pthread_mutex_lock(&mutex);
    if (write(ends[1], "x", 1) != 1) return NULL;
    pthread_mutex_unlock(&mutex);
    return unused;
}

int main(void) {
    pthread_t thread;
    char byte = 0;
    if (pipe(ends) != 0) return 1;
    pthread_create(&thread, NULL, writer, NULL);
    if (read(ends[0], &byte, 1) != 1) return 1;
    printf("%c\n", byte);
    pthread_join(thread, NULL);
    return 0;
}
