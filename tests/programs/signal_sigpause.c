// Both kinds of sigpause let in signals from children; the order in which they came must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sigpause __xpg_sigpause __sigpause
#include "order.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
int bsd_pause(int blocked) __asm__("sigpause");
int sysv_pause(int number) __asm__("__xpg_sigpause");
int either_pause(int what, int is_number) __asm__("__sigpause");
static volatile sig_atomic_t last;
static void got(int signal) { last = signal; }
static int is_blocked(int number) {
    sigset_t now;
    sigprocmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, number);
}
int main(void) {
    struct sigaction action = {.sa_handler = got};
    sigset_t block;
    sigemptyset(&block);
    sigfillset(&action.sa_mask); // one at a time
    sigaddset(&block, SIGUSR1);
    sigaddset(&block, SIGUSR2);
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    sigprocmask(SIG_BLOCK, &block, NULL);
    int ends[2][2], failed = 0;
    for (int i = 0; i < 2; i++) {
        if (pipe(ends[i]) != 0) return 1;
        if (fork() == 0) {
            char go;
            close(ends[i][1]);
            do {
                jitter();
                kill(getppid(), i == 0 ? SIGUSR1 : SIGUSR2);
            } while (read(ends[i][0], &go, 1) == 1);
            _exit(0);
        }
        close(ends[i][0]);
    }
    for (int i = 0; i < 40; i++) {
        last = 0;
        // One of the two is left by one who sends again only when it was heard.
        if (i % 2 == 0) failed += bsd_pause(0) != -1;
        else if (i % 4 == 1) failed += sysv_pause(SIGUSR1) != -1 || last != SIGUSR1;
        else failed += either_pause(1 << (SIGUSR1 - 1), 0) != -1 || last != SIGUSR2;
        failed += !is_blocked(SIGUSR1) + !is_blocked(SIGUSR2);
        note(last);
        if (write(ends[last == SIGUSR2][1], "", 1) != 1) failed++;
    }
    failed += sysv_pause(999) != -1;
    for (int i = 0; i < 2; i++) close(ends[i][1]);
    for (int i = 0; i < 2; i++) wait(NULL);
    print_order();
    printf("%d wrong\n", failed);
    return failed;
}
