// A program with threads that becomes itself again by every kind of exec; each image's order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: execl execle execlp execv execve execvp execvpe fexecve execveat pthread_create
//@ ends: 7
#include "order.h"
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
extern char **environ;
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
    static char path[4096], folder[4096], next[16];
    int stage = argc > 1 ? atoi(argv[1]) : 0;
    run_threads(3, body);
    printf("%d: ", stage);
    print_order();
    fflush(stdout);
    if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return 1;
    strcpy(folder, path);
    char *name = basename(path), *args[] = {path, next, NULL}, *env[] = {"KEPT=1", NULL};
    snprintf(next, sizeof next, "%d", stage + 1);
    setenv("PATH", dirname(folder), 1);
    switch (stage) {
    case 0: execl(path, path, next, (char *)NULL); break;
    case 1: execle(path, path, next, (char *)NULL, env); break;
    case 2: execlp(name, path, next, (char *)NULL); break;
    case 3: execv(path, args); break;
    case 4: execve(path, args, env); break;
    case 5: execvp(name, args); break;
    case 6: execvpe(name, args, environ); break;
    case 7: fexecve(open(path, O_RDONLY), args, env); break;
    case 8: execveat(AT_FDCWD, path, args, env, 0); break;
    default: execl("/nonexistent", "x", (char *)NULL); return 7; // fails, and the program goes on
    }
    return 1;
}
