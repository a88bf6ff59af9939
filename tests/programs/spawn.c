// Children by posix_spawn and posix_spawnp, with cleaned environments; who ended first, and each order, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: posix_spawn posix_spawnp wait
#include "order.h"
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (int i = 0; i < 20; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(int argc, char **argv) {
    static char path[4096];
    char *args[] = {argv[0], "child", NULL}, *none[] = {NULL};
    pid_t children[4];
    posix_spawn_file_actions_t actions;
    if (argc > 1) {
        run_threads(2, body);
        return (int)(order_hash() % 251);
    }
    if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return 1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addclose(&actions, 0);
    if (posix_spawn(&children[0], path, NULL, NULL, args, environ)) return 1;
    if (posix_spawn(&children[1], path, &actions, NULL, args, none)) return 1;
    if (posix_spawnp(&children[2], path, NULL, NULL, args, environ)) return 1;
    if (posix_spawnp(&children[3], path, &actions, NULL, args, none)) return 1;
    printf("missing: %d\n", posix_spawn(&(pid_t){0}, "/nonexistent", NULL, NULL, args, environ));
    for (int i = 0; i < 4; i++) {
        int status;
        pid_t ended = wait(&status);
        for (int j = 0; j < 4; j++)
            if (children[j] == ended) printf("child %d (%d) ended %d\n", j, (int)ended, WEXITSTATUS(status));
    }
    return 0;
}
