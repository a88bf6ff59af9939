// Which child ended first, by waitpid(-1), of its group, and by waitid, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: fork waitpid waitid _exit
#include "order.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int round = 0; round < 6; round++) {
        pid_t children[4];
        for (int i = 0; i < 4; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                for (int j = 0; j < 20; j++) jitter();
                if (i == 3) kill(getpid(), SIGTERM);
                _exit(i + 7);
            }
        }
        for (int i = 0; i < 4; i++) {
            siginfo_t info = {0};
            int status = 0;
            pid_t ended;
            if (round % 3 == 2) {
                waitid(P_ALL, 0, &info, WEXITED);
                ended = info.si_pid;
                status = info.si_status << (info.si_code == CLD_EXITED ? 8 : 0);
            } else
                ended = waitpid(round % 3 ? 0 : -1, &status, 0);
            for (int j = 0; j < 4; j++)
                if (children[j] == ended) note(j);
            note(WIFSIGNALED(status) ? WTERMSIG(status) + 20 : WEXITSTATUS(status));
        }
    }
    print_order();
    return 0;
}
