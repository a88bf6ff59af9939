// A program replaces itself by execveat, once by a folder's descriptor and once by its own; both images come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: execveat
//@ ends: 4
#include "order.h"
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (int i = 0; i < 10; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(int argc, char **argv) {
    static char path[4096], folder[4096];
    int stage = argc > 1 ? atoi(argv[1]) : 0;
    char next[2] = {(char)('1' + stage), 0}, *args[] = {argv[0], next, NULL}, *env[] = {NULL};
    run_threads(3, body);
    print_order();
    fflush(stdout);
    if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return 1;
    strcpy(folder, path);
    if (stage == 0) execveat(open(dirname(folder), O_RDONLY | O_DIRECTORY), basename(path), args, env, 0);
    if (stage == 1) execveat(open(path, O_RDONLY), "", args, env, AT_EMPTY_PATH);
    return 4;
}
