// The thesis's speed test: four threads, each opens, writes and closes a file again and again under one mutex.
//@ flags: -pthread
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long times = 100;
static long last;
static void *body(void *id) {
    char name[64];
    pthread_mutex_lock(&lock);
    last = (long)(intptr_t)id;
    snprintf(name, sizeof name, "follow-files-%d.txt", (int)getpid());
    for (long i = 0; i < times; i++) {
        FILE *file = fopen(name, i == 0 ? "w" : "r+");
        if (file == NULL) abort();
        fputc('0' + (int)(i % 10), file);
        fclose(file);
    }
    unlink(name);
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(int argc, char **argv) {
    struct timespec from, to;
    pthread_t threads[4];
    if (argc > 1) times = atol(argv[1]);
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &from); // past Retake, whose time is virtual
    for (long i = 0; i < 4; i++) pthread_create(&threads[i], NULL, body, (void *)(intptr_t)(i + 1));
    for (long i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &to);
    printf("last %ld\n", last);
    fprintf(stderr, "files %.0f\n", (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec));
    return 0;
}
