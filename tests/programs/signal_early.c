// A child handles a signal that its parent sends after a sleep. A replay does not sleep: the signal comes before there is a handler.
//@ flags: -O1
//@ replay: 20 times, same stdout
//@ covers: kill pause sigaction fork waitpid
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static void handler(int number) { printf("handler of %d\n", number); }
int main(void) {
    static const int numbers[] = {SIGUSR1, SIGTERM, SIGABRT, SIGHUP};
    for (int i = 0; i < 5; i++) {
        int number = i < 4 ? numbers[i] : SIGRTMIN + 3, status;
        pid_t child = fork();
        if (child == 0) {
            struct sigaction before, action = {.sa_handler = handler};
            sigaction(number, &action, &before);
            printf("before %d: %s\n", number, before.sa_handler == SIG_DFL ? "default" : "other");
            pause();
            return i;
        }
        usleep(50000);
        kill(child, number);
        waitpid(child, &status, 0);
        printf("child ended with %d\n", status >> 8);
        fflush(stdout);
    }
    return 0;
}
