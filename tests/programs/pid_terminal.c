// The process group that holds a terminal is shown by the id that was recorded, and may be set by it.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: tcgetpgrp tcsetpgrp setsid setpgid fork waitpid getpid getpgrp
#include "order.h"
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
static int session(int terminal) {
    int status;
    setsid();
    if (ioctl(terminal, TIOCSCTTY, 0) != 0) return 1;
    signal(SIGTTOU, SIG_IGN);
    printf("leader %d, terminal %d\n", (int)getpid(), (int)tcgetpgrp(terminal));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        int set = tcsetpgrp(terminal, getpid());
        printf("child %d set %d, terminal is mine %d\n", (int)getpid(), set, tcgetpgrp(terminal) == getpgrp());
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    int set = tcsetpgrp(terminal, getpid());
    printf("back %d mine %d\n", set, tcgetpgrp(terminal) == getpid());
    fflush(stdout);
    return 0;
}
int main(void) {
    int master, slave, status;
    if (openpty(&master, &slave, NULL, NULL, NULL) != 0) return 1;
    pid_t leader = fork();
    if (leader == 0) _exit(session(slave));
    waitpid(leader, &status, 0);
    printf("leader %d ended %d\n", (int)leader, WEXITSTATUS(status));
    return 0;
}
