// Process and thread ids as first seen must come back, and still work when handed back to the system.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: getpid gettid getppid kill tgkill fork waitpid getpgid getsid pthread_gettid_np
#include "order.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static pid_t tids[4];
static void *body(void *id) {
    tids[(long)id] = gettid();
    return (void *)(long)tgkill(getpid(), gettid(), 0);
}
int main(void) {
    int status;
    printf("pid %d tid %d same %d parent %d\n", (int)getpid(), (int)gettid(), getpid() == gettid(), getppid() > 0);
    printf("kill %d %d\n", kill(getpid(), 0), kill(getppid(), 0));
    run_threads(3, body);
    printf("threads %d %d %d\n", (int)tids[1], (int)tids[2], (int)tids[3]);
    fflush(stdout);
    for (int i = 0; i < 3; i++) {
        int ready[2];
        char byte;
        if (pipe(ready) != 0) return 1;
        pid_t parent = getpid(), child = fork();
        if (child == 0) {
            printf("child %d of %d, as expected: %d\n", (int)getpid(), (int)getppid(), getppid() == parent);
            fflush(stdout);
            close(ready[1]);
            for (;;) pause();
        }
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 0) return 2;
        printf("child %d alive %d ", (int)child, kill(child, 0));
        printf("killed %d ", kill(child, SIGTERM));
        printf("waited %d ", waitpid(child, &status, 0) == child);
        printf("by signal %d, gone %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0, kill(child, 0));
        fflush(stdout);
    }
    return 0;
}
