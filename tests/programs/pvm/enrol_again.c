// A task leaves PVM and comes back under another id, twice; the ids come back, and messages find them.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_exit pvm_mytid
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int parent = pvm_parent(), tids[3];
    if (parent > 0) {
        for (int i = 0; i < 3; i++) {
            int me = pvm_mytid();
            usleep(me % 512 * 7919 % 1500);
            pvm_initsend(PvmDataDefault);
            pvm_pkint(&me, 1, 1);
            pvm_send(parent, i);
            pvm_recv(parent, 9);
            pvm_exit();
        }
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 3, tids);
    for (int i = 0; i < 9; i++) {
        int tag, source, said;
        pvm_bufinfo(pvm_recv(-1, -1), NULL, &tag, &source);
        pvm_upkint(&said, 1, 1);
        printf("life %d: t%x\n", tag, source);
        pvm_initsend(PvmDataDefault);
        pvm_send(said, 9);
    }
    pvm_exit();
    return 0;
}
