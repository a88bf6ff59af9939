// All threads but one wait for a signal; that one reads from a pipe, into which a child writes late.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int pipes[2], done;
static void *reader(void *x) {
    char byte;
    if (read(pipes[0], &byte, 1) != 1) abort();
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_signal(&ready);
    pthread_mutex_unlock(&lock);
    return x;
}
int main(void) {
    if (pipe(pipes) != 0) abort();
    if (fork() == 0) {
        usleep(100000);
        _exit(write(pipes[1], "x", 1) != 1);
    }
    pthread_t other = start(reader, 0);
    pthread_mutex_lock(&lock);
    while (!done) pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    pthread_join(other, NULL);
    puts("read");
    return 0;
}
