// sigsuspend lets in signals from children; the order in which they came must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sigsuspend sigprocmask sigaction fork kill wait getppid
#include "order.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t last;
static void got(int signal) { last = signal; }
int main(void) {
    struct sigaction action = {.sa_handler = got};
    sigset_t block, before;
    sigemptyset(&block);
    sigfillset(&action.sa_mask); // one at a time
    for (int i = 0; i < 4; i++) {
        sigaddset(&block, SIGRTMIN + i);
        sigaction(SIGRTMIN + i, &action, NULL);
    }
    sigprocmask(SIG_BLOCK, &block, &before);
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            for (int j = 0; j < 10; j++) {
                jitter();
                kill(getppid(), SIGRTMIN + i);
            }
            _exit(0);
        }
    for (int i = 0; i < 40; i++) {
        last = 0;
        while (last == 0) sigsuspend(&before);
        note(last - SIGRTMIN);
    }
    for (int i = 0; i < 4; i++) wait(NULL);
    print_order();
    return 0;
}
