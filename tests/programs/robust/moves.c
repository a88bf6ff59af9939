// Leaves its directory, clears its environment, sends its output to a file, and executes itself: all of it is one take.
//@ flags: -pthread
#include "../order.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned order = 2166136261u;
static void *body(void *id) {
    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        order = (order ^ (unsigned)(long)id) * 16777619u;
        pthread_mutex_unlock(&lock);
        if (i % 64 == 0) jitter();
    }
    return NULL;
}
static int variables(void) {
    int many = 0;
    while (environ && environ[many]) many++;
    return many;
}
int main(int argc, char **argv) {
    char *again[] = {argv[0], "again", NULL};
    char cwd[4096];
    int status;
    if (argc == 1) {
        // With the environment of nobody, from elsewhere, and with its output in a file.
        if (freopen("moved.out", "w", stdout) == NULL || chdir("/") != 0 || clearenv() != 0) return 2;
    }
    run_threads(3, body);
    printf("in %s, %d variables\norder %08x\n", getcwd(cwd, sizeof cwd), variables(), order);
    fflush(stdout);
    if (argc > 1) return 6;
    pid_t child = fork();
    if (child == 0) {
        execv(argv[0], again);
        _exit(9);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    return 8;
}
