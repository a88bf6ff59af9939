// What is known and not replayed: handlers of messages, descriptors, helpers of the daemon. The recording tells of it.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_addmhf pvm_getfds pvm_reg_hoster pvm_reg_tasker pvm_reg_rm pvm_reg_tracer pvm_tickle
#include <pvm3.h>
#include <stdio.h>

static int handler(int buffer) {
    return 0;
}

int main(int argc, char **argv) {
    int *fds;
    struct pvmhostinfo *host;
    pvm_setopt(PvmAutoErr, 0);
    pvm_mytid();
    printf("%d\n", pvm_addmhf(-1, 77, -1, handler) >= 0);
    printf("%d\n", pvm_getfds(&fds) >= 1);
    printf("%d\n", pvm_reg_tasker());
    printf("%d\n", pvm_reg_tasker());
    printf("%d\n", pvm_reg_hoster());
    printf("%d\n", pvm_reg_hoster());
    printf("%d\n", pvm_reg_tracer(0, 0, 0, 0, "", 0, 0) >= 0);
    int ask = 5, answers = 0, answer[10];
    printf("%d\n", pvm_tickle(1, &ask, &answers, answer) >= 0);
    if (argc > 1)
        printf("%d\n", pvm_reg_rm(&host) >= 0);
    pvm_exit();
    return 0;
}
