// Four tasks send five messages each; the order in which they arrived, and the ids that were seen, come back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_mytid pvm_parent pvm_spawn pvm_send pvm_recv pvm_bufinfo pvm_exit
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

enum { TASKS = 4, EACH = 5 };

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[TASKS];
    if (parent > 0) {
        for (int i = 0; i < EACH; i++) {
            pvm_initsend(PvmDataDefault);
            pvm_pkint(&me, 1, 1);
            pvm_send(parent, i);
            usleep(me % 512 * 7919 % 1500);
        }
        pvm_exit();
        return 0;
    }
    int started = pvm_spawn(argv[0], NULL, PvmTaskDefault, "", TASKS, tids);
    printf("t%x started %d: t%x t%x t%x t%x\n", me, started, tids[0], tids[1], tids[2], tids[3]);
    for (int i = 0; i < TASKS * EACH; i++) {
        int length, tag, source, said;
        pvm_bufinfo(pvm_recv(-1, -1), &length, &tag, &source);
        pvm_upkint(&said, 1, 1);
        printf("t%x %d%s\n", source, tag, said == source ? "" : " from somebody else");
    }
    pvm_exit();
    return 0;
}
