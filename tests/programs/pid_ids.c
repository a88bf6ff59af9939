// Session and process group ids, and the ids of children that children have, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: getpid getppid getpgid getpgrp getsid fork waitpid setpgid killpg
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        pid_t grandchild = fork();
        if (grandchild == 0) {
            printf("grandchild %d of %d in group %d\n", (int)getpid(), (int)getppid(), (int)getpgrp());
            fflush(stdout);
            _exit(getpgrp() == getppid() ? 5 : 6);
        }
        waitpid(grandchild, &status, 0);
        printf("child %d: grandchild %d ended %d, group is mine %d\n", (int)getpid(), (int)grandchild,
               WEXITSTATUS(status), getpgid(0) == getpid());
        fflush(stdout);
        killpg(0, SIGUSR1);
        _exit(1);
    }
    waitpid(child, &status, 0);
    printf("parent %d: child %d ended by %d, session unchanged %d\n", (int)getpid(), (int)child, WTERMSIG(status),
           getsid(0) == getsid(getpid()));
    return 0;
}
