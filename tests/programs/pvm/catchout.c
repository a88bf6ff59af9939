// Output of tasks, which PVM collects for their parent: the lines come back between the parent's own.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_catchout
#include <stdio.h>
#include <pvm3.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[3];
    if (parent > 0) {
        for (int i = 0; i < 3; i++) {
            printf("line %d of t%x\n", i, me);
            fflush(stdout);
            usleep(me % 512 * 7919 % 2000);
        }
        pvm_initsend(PvmDataDefault);
        pvm_send(parent, 1);
        pvm_exit();
        return 0;
    }
    pvm_catchout(stdout);
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 3, tids);
    for (int i = 0; i < 3; i++) {
        int source;
        pvm_bufinfo(pvm_recv(-1, 1), NULL, NULL, &source);
        printf("t%x is done\n", source);
        fflush(stdout);
    }
    pvm_exit();
    return 0;
}
