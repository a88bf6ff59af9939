// Children are killed as soon as they have executed a program, most of them before the shim is loaded there. Each must be
// killed again, and its end be the same.
//@ flags: -O1
//@ replay: 20 times, same stdout
//@ covers: execl fork kill waitpid posix_spawn
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static void end(pid_t child, int number) {
    int status = 0;
    printf("killed %d, ", kill(child, number));
    printf("waited %d, ", waitpid(child, &status, 0) == child);
    printf("by signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}
int main(int argc, char **argv) {
    for (int i = 0; argc == 1 && i < 6; i++) {
        int ends[2];
        char byte, *args[] = {argv[0], "sleep", NULL};
        pid_t child;
        if (pipe(ends) || fcntl(ends[1], F_SETFD, FD_CLOEXEC)) return 1;
        fflush(stdout);
        if (i % 2) {
            if (posix_spawn(&child, "/proc/self/exe", NULL, NULL, args, environ)) return 2;
        } else if ((child = fork()) == 0) {
            execl("/proc/self/exe", argv[0], "sleep", (char *)NULL);
            return 3;
        }
        close(ends[1]);
        if (read(ends[0], &byte, 1)) return 4; // the other end is closed when the child has become a program
        end(child, i < 3 ? SIGKILL : SIGTERM);
    }
    while (argc > 1) pause();
    return 0;
}
