// exec with an empty environment, from a thread and from a child; the new image's order must come back all the same.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: execve execvp fork waitpid clearenv
#include "order.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char path[4096];
static void *body(void *id) {
    for (int i = 0; i < 20; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
static void *become(void *stage) {
    char *args[] = {path, stage, NULL}, *env[] = {NULL};
    execve(path, args, env);
    return NULL;
}
int main(int argc, char **argv) {
    int status, variables = 0;
    for (char **at = environ; at && *at; at++) variables++;
    run_threads(3, body);
    printf("%s: %d variables ", argc > 1 ? argv[1] : "first", argc > 1 ? variables : -1);
    print_order();
    fflush(stdout);
    if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return 1;
    if (argc > 1) return argv[1][0] == 'c' ? 42 : 0;
    pid_t child = fork();
    if (child == 0) {
        clearenv();
        execvp(path, (char *[]){path, "child", NULL});
        _exit(1);
    }
    waitpid(child, &status, 0);
    printf("child ended %d\n", WEXITSTATUS(status));
    fflush(stdout);
    pthread_t thread;
    pthread_create(&thread, NULL, become, "thread"); // exec from a thread that is not main
    pthread_join(thread, NULL);
    return 1;
}
