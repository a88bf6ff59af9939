// Each child says that it is there and then only sleeps, again and again, until it is killed.
//@ flags: -pthread
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int i = 0; i < 5; i++) {
        int fd[2], status;
        char byte = 'a';
        if (pipe(fd)) return 1;
        pid_t child = fork();
        if (child == 0) {
            if (write(fd[1], &byte, 1) != 1) return 1;
            for (;;) sleep(1);
        }
        if (read(fd[0], &byte, 1) != 1) return 1;
        kill(child, SIGTERM);
        waitpid(child, &status, 0);
        printf("ended by %d\n", WTERMSIG(status));
    }
}
