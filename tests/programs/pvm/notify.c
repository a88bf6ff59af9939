// Who ended first, by itself or killed: notifications come back in their order, with the ids that they told.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_notify pvm_kill
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[5];
    if (parent > 0) {
        pvm_recv(parent, 1);
        if (pvm_nrecv(parent, 2) > 0)
            pvm_recv(-1, 99);
        usleep(me % 512 * 104729 % 3000);
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 5, tids);
    pvm_notify(PvmTaskExit, 50, 5, tids);
    pvm_initsend(PvmDataDefault);
    pvm_send(tids[2], 2);
    pvm_mcast(tids, 5, 1);
    for (int i = 0; i < 5; i++) {
        int tag, ended, left;
        pvm_bufinfo(i % 2 ? pvm_recv(-1, -1) : pvm_recv(-1, 50), NULL, &tag, NULL);
        left = pvm_unpackf("%d", &ended);
        printf("%d: t%x has ended (%d)\n", tag, ended, left);
        if (i == 2)
            pvm_kill(tids[2]);
    }
    pvm_exit();
    return 0;
}
