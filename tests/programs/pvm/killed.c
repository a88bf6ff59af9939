// A task is killed in the middle of its work; what it had sent by then, and that it was missed, comes back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_notify pvm_recv
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[3];
    if (parent > 0) {
        int first;
        pvm_recv(parent, 1);
        pvm_upkint(&first, 1, 1);
        for (int i = 0; i < 6; i++) {
            usleep(me % 512 * 7919 % 900);
            if (i == 3 && me == first)
                raise(SIGKILL);
            pvm_initsend(PvmDataDefault);
            pvm_send(parent, 10 + i);
        }
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 3, tids);
    pvm_notify(PvmTaskExit, 50, 3, tids);
    pvm_initsend(PvmDataDefault);
    pvm_pkint(&tids[1], 1, 1);
    pvm_mcast(tids, 3, 1);
    for (int ended = 0; ended < 3;) {
        int tag, who;
        pvm_bufinfo(pvm_recv(-1, -1), NULL, &tag, &who);
        if (tag == 50) {
            ended++;
            pvm_upkint(&who, 1, 1);
        }
        printf("%d t%x\n", tag, who);
    }
    pvm_exit();
    return 0;
}
