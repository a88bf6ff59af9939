// Tasks that spawn tasks: leaves tell the root, which hears of their ids only then; the order comes back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_spawn pvm_recv
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), depth = argc > 1 ? atoi(argv[1]) : 0, root = argc > 2 ? atoi(argv[2]) : me;
    int tids[3];
    if (depth < 2) {
        char level[12], top[12];
        sprintf(level, "%d", depth + 1);
        sprintf(top, "%d", root);
        pvm_spawn(argv[0], (char *[]){level, top, NULL}, PvmTaskDefault, "", depth ? 2 : 3, tids);
    }
    if (depth == 2) {
        usleep(me % 512 * 7919 % 2000);
        pvm_initsend(PvmDataDefault);
        pvm_pkint(&parent, 1, 1);
        pvm_send(root, 1);
        pvm_recv(root, 2);
    }
    if (depth == 0) {
        for (int i = 0; i < 6; i++) {
            int source, between;
            pvm_bufinfo(pvm_recv(-1, 1), NULL, NULL, &source);
            pvm_upkint(&between, 1, 1);
            printf("t%x, child of t%x\n", source, between);
            pvm_initsend(PvmDataDefault);
            pvm_send(source, 2);
        }
    }
    pvm_exit();
    return 0;
}
