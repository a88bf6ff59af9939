// Which child ended first, by wait, and with what status, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: fork wait wait3 wait4 _exit
#include "order.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int round = 0; round < 5; round++) {
        pid_t children[5];
        for (int i = 0; i < 5; i++) {
            children[i] = fork();
            if (children[i] == 0) {
                for (int j = 0; j < 20; j++) jitter();
                _exit(i * 3);
            }
        }
        for (int i = 0; i < 5; i++) {
            struct rusage usage;
            int status;
            pid_t ended = round == 0   ? wait3(&status, 0, &usage)
                          : round == 1 ? wait4(-1, &status, 0, &usage)
                                       : wait(&status);
            for (int j = 0; j < 5; j++)
                if (children[j] == ended) note(j);
            note(WEXITSTATUS(status) + 10);
        }
        if (wait(NULL) != -1) return 1;
    }
    print_order();
    return 0;
}
