// How often a poll for children found none ended must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: fork waitpid waitid usleep _exit
#include "order.h"
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int round = 0; round < 6; round++) {
        pid_t children[3];
        for (int i = 0; i < 3; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                for (int j = 0; j < 30; j++) jitter();
                _exit(i);
            }
        }
        int none = 0;
        for (int left = 3; left > 0;) {
            int status;
            siginfo_t info = {0};
            pid_t ended = round % 2 ? waitpid(-1, &status, WNOHANG)
                                    : (waitid(P_ALL, 0, &info, WEXITED | WNOHANG), info.si_pid);
            if (ended == 0) {
                none++;
                if (round > 2) usleep(20);
                continue;
            }
            left--;
            for (int j = 0; j < 3; j++)
                if (children[j] == ended) note(j);
        }
        printf("%d ", none);
    }
    print_order();
    return 0;
}
