// THREADS threads take one mutex ROUNDS times each; the total is always the same, the line `order` is what came back.
//@ flags: -pthread
#include "../order.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long rounds, total;
static unsigned order = 2166136261u;

static void *body(void *id) {
    for (long i = 0; i < rounds; i++) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        pthread_mutex_lock(&lock);
        total++;
        order = (order ^ (unsigned)(long)id ^ (unsigned)now.tv_nsec) * 16777619u;
        pthread_mutex_unlock(&lock);
        if (i % 64 == 0) jitter();
    }
    return NULL;
}

// usage: work THREADS ROUNDS [wait | full]
int main(int argc, char **argv) {
    const char *how = argc > 3 ? argv[3] : "";
    rounds = atol(argv[2]);
    if (strcmp(how, "wait") == 0) {
        // The one who runs the test does something to us before it lets us go on.
        char go;
        dprintf(1, "ready %d\n", (int)getpid());
        if (read(0, &go, 1) < 0) return 2;
    }
    // Every descriptor that may be had, so that none is left for anybody else.
    if (strcmp(how, "full") == 0)
        while (open("/dev/null", O_RDONLY) >= 0) {}
    run_threads(atoi(argv[1]), body);
    printf("total %ld\norder %08x\n", total, order);
    return 7;
}
