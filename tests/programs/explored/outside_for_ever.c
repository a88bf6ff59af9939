// A thread waits at a pipe that nobody writes to: Retake cannot see that it never ends.
//@ flags: -pthread -g
#include <pthread.h>
#include <unistd.h>

static int ends[2];

static void *reader(void *unused) {
    char byte;
    return read(ends[0], &byte, 1) == 1 ? unused : NULL;
}

int main(void) {
    pthread_t thread;
    if (pipe(ends) != 0) return 1;
    pthread_create(&thread, NULL, reader, NULL);
    pthread_join(thread, NULL);
    return 0;
}
