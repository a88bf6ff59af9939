// Signals to the whole group: each comes once, and whoever waits for the program outlives them.
//@ flags: -pthread
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t count[65];
static void got(int number) { count[number]++; }
int main(void) {
    const int numbers[] = {SIGUSR1, SIGTERM, SIGHUP, SIGINT, SIGVTALRM, SIGIO, SIGRTMIN, SIGRTMAX};
    struct sigaction action = {.sa_handler = got};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        sigaction(numbers[i], &action, NULL);
        kill(0, numbers[i]);
        usleep(100000);
        usleep(1);
        signal(numbers[i], SIG_IGN);
        // From a child, and from a child of a child: the program is past hearing them.
        if (fork() == 0) {
            if (fork() == 0) _exit(killpg(getpgrp(), numbers[i]));
            wait(NULL);
            _exit(killpg(getpgrp(), numbers[i]));
        }
        wait(NULL);
    }
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) printf("signal %d: %d\n", numbers[i], (int)count[numbers[i]]);
    return 0;
}
