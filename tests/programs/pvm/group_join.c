// Tasks join a group, leave it and join again: every place that was given out comes back.
//@ flags: -lgpvm3 -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_joingroup pvm_lvgroup pvm_getinst pvm_gettid pvm_gsize pvm_barrier pvm_bcast
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

enum { TASKS = 4 };

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[TASKS], said[5];
    if (parent > 0) {
        usleep(me % 512 * 7919 % 1500);
        said[0] = pvm_joingroup("some");
        pvm_barrier("some", TASKS);
        said[1] = pvm_gsize("some");
        said[2] = pvm_gettid("some", TASKS - 1 - said[0]);
        pvm_barrier("some", TASKS);
        if (said[0] % 2) {
            pvm_lvgroup("some");
            usleep(me % 512 * 104729 % 1500);
            said[0] += 10 * (1 + pvm_joingroup("some"));
        }
        said[3] = pvm_getinst("some", me);
        pvm_barrier("some", TASKS);
        if (said[3] == 0) {
            pvm_initsend(PvmDataDefault);
            pvm_bcast("some", 3);
        } else {
            pvm_bufinfo(pvm_recv(-1, 3), NULL, NULL, &said[4]);
        }
        pvm_initsend(PvmDataDefault);
        pvm_pkint(said, 5, 1);
        pvm_send(parent, 1);
        pvm_barrier("some", TASKS);
        pvm_lvgroup("some");
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", TASKS, tids);
    for (int i = 0; i < TASKS; i++) {
        int source;
        pvm_bufinfo(pvm_recv(-1, 1), NULL, NULL, &source);
        pvm_upkint(said, 5, 1);
        printf("t%x: place %d of %d, opposite t%x, at last %d", source, said[0], said[1], said[2], said[3]);
        if (said[3] != 0)
            printf(", told by t%x", said[4]);
        printf("\n");
    }
    pvm_exit();
    return 0;
}
