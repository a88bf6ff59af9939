// A token goes round a ring while neighbours chat: each task's order of arrivals comes back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_spawn pvm_mcast pvm_recv pvm_send
#include <pvm3.h>
#include <stdio.h>

enum { TASKS = 5, ROUNDS = 4 };

static void tell(int to, int tag) {
    pvm_initsend(PvmDataDefault);
    pvm_send(to, tag);
}

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[TASKS];
    if (parent > 0) {
        int order[2 * ROUNDS], place = 0;
        pvm_recv(parent, 1);
        pvm_upkint(tids, TASKS, 1);
        while (tids[place] != me)
            place++;
        int next = tids[(place + 1) % TASKS], other = tids[(place + 2) % TASKS];
        if (place == 0)
            tell(next, 5);
        for (int i = 0, token = 0; i < 2 * ROUNDS; i++) {
            if (i < ROUNDS)
                tell(other, 6);
            pvm_bufinfo(pvm_recv(-1, -1), NULL, &order[i], NULL);
            if (order[i] == 5 && (place != 0 || ++token < ROUNDS))
                tell(next, 5);
        }
        pvm_initsend(PvmDataDefault);
        pvm_pkint(order, 2 * ROUNDS, 1);
        pvm_send(parent, 2);
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", TASKS, tids);
    pvm_initsend(PvmDataDefault);
    pvm_pkint(tids, TASKS, 1);
    pvm_mcast(tids, TASKS, 1);
    for (int i = 0; i < TASKS; i++) {
        int order[2 * ROUNDS], source;
        pvm_bufinfo(pvm_recv(-1, 2), NULL, NULL, &source);
        pvm_upkint(order, 2 * ROUNDS, 1);
        printf("t%x:", source);
        for (int j = 0; j < 2 * ROUNDS; j++)
            printf(" %d", order[j]);
        printf("\n");
    }
    pvm_exit();
    return 0;
}
