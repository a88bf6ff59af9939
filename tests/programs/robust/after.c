// One child lives while thousands of others come and go; then it is ended.
//@ flags:
//@ replay: 3 times, same stdout
//@ covers: fork waitpid kill
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int sum = 0, status = 0;
    pid_t first = fork();
    if (first == 0)
        for (;;) pause();
    for (int i = 0; i < 9000; i++) {
        pid_t child = fork();
        if (child == 0) _exit(i % 7);
        if (waitpid(child, &status, 0) != child) return 1;
        sum += WEXITSTATUS(status);
    }
    kill(first, SIGTERM);
    int is_first = waitpid(first, &status, 0) == first;
    printf("sum %d, first %d by %d\n", sum, is_first, WTERMSIG(status));
    return 0;
}
