// The main thread leaves, and stays as what it is while others come and go. What is kept of them must not grow without end.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_join pthread_exit
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { THREADS = 2000, GROWN_KB_MAX = 8000 };
static long anonymous_kb(void) {
    char line[256];
    long kb = -1;
    FILE *file = fopen("/proc/thread-self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "RssAnon:", 8) == 0) kb = strtol(line + 8, NULL, 10);
    if (file) fclose(file);
    return kb;
}
static void *nothing(void *x) { return x; }
static void *makes(void *x) {
    long before = anonymous_kb();
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, x) != 0) return x;
        pthread_join(thread, NULL);
    }
    long grown = anonymous_kb() - before;
    puts(grown > GROWN_KB_MAX ? "grown" : "the same");
    exit(grown > GROWN_KB_MAX);
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, makes, NULL);
    pthread_exit(NULL);
}
