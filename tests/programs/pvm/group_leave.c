// A member leaves its group when it has given its share, before the others have: all shares come back, together and to each
// task alone, although nothing but a sleep held it back until the root had asked who is in the group.
//@ flags: -lgpvm3 -lpvm3
//@ replay: 20 times, same stdout
//@ covers: gs_get_tidlist
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

enum { TASKS = 3 };

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[TASKS], all[TASKS] = {0};
    if (parent > 0) {
        int place = pvm_joingroup("crew");
        pvm_barrier("crew", TASKS);
        if (place == TASKS - 1) usleep(800000);
        pvm_gather(all, &me, 1, PVM_INT, 5, "crew", 0);
        if (place > 0) {
            usleep(200000);
            pvm_lvgroup("crew");
        } else {
            pvm_initsend(PvmDataDefault);
            pvm_pkint(all, TASKS, 1);
            pvm_send(parent, 1);
            pvm_lvgroup("crew");
        }
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", TASKS, tids);
    pvm_recv(-1, 1);
    pvm_upkint(all, TASKS, 1);
    for (int i = 0; i < TASKS; i++) printf("t%x\n", all[i]);
    pvm_exit();
    return 0;
}
