// Each task is killed as soon as its message is read, perhaps before its send has returned: the messages come back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_kill pvm_send
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

enum { TASKS = 8 };

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[TASKS];
    if (parent > 0) {
        usleep(me % 512 * 7919 % 3000);
        pvm_initsend(PvmDataDefault);
        pvm_send(parent, 1);
        pvm_recv(parent, 2);
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", TASKS, tids);
    pvm_setopt(PvmAutoErr, 0);
    for (int i = 0; i < TASKS; i++) {
        int source;
        pvm_bufinfo(pvm_recv(-1, 1), NULL, NULL, &source);
        printf("t%x %d", source, pvm_kill(source));
        printf(" %d\n", pvm_send(-7, 3));
    }
    pvm_exit();
    return 0;
}
