// A group gathers, scatters and reduces; who has which place, and so every result, comes back.
//@ flags: -lgpvm3 -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_gather pvm_scatter pvm_reduce pvm_freezegroup pvm_grphostinfo
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

enum { TASKS = 4 };

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[TASKS], all[TASKS] = {0}, mine = 0;
    if (parent > 0) {
        usleep(me % 512 * 7919 % 1500);
        int place = pvm_joingroup("crew");
        pvm_barrier("crew", TASKS);
        pvm_freezegroup("crew", TASKS);
        pvm_gather(all, &me, 1, PVM_INT, 5, "crew", 0);
        if (place == 0)
            for (int i = 0; i < TASKS; i++)
                all[i] = all[i] * 10 + i;
        pvm_scatter(&mine, all, 1, PVM_INT, 6, "crew", 0);
        double sum = 1.0 / (3 + (me & 15));
        pvm_reduce(PvmSum, &sum, 1, PVM_DOUBLE, 7, "crew", 0);
        pvm_initsend(PvmDataDefault);
        pvm_pkint(&place, 1, 1);
        pvm_pkint(&mine, 1, 1);
        pvm_pkdouble(&sum, 1, 1);
        pvm_send(parent, 1);
        pvm_barrier("crew", TASKS);
        pvm_lvgroup("crew");
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", TASKS, tids);
    for (int i = 0; i < TASKS; i++) {
        int source, place;
        double sum;
        pvm_bufinfo(pvm_recv(-1, 1), NULL, NULL, &source);
        pvm_upkint(&place, 1, 1);
        pvm_upkint(&mine, 1, 1);
        pvm_upkdouble(&sum, 1, 1);
        printf("t%x at %d got %d, sum %.17g\n", source, place, mine, place ? 0 : sum);
    }
    pvm_exit();
    return 0;
}
