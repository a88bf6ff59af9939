// Options that hold ids, and a program that chooses its messages itself (the greatest tag first): both come back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_getopt pvm_setopt pvm_recvf
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

static int greatest(int buffer, int tid, int tag) {
    int its_tag;
    pvm_bufinfo(buffer, NULL, &its_tag, NULL);
    return its_tag < 20 ? 2 + its_tag : 0;
}

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[3];
    if (parent > 0) {
        for (int i = 0; i < 4; i++) {
            pvm_initsend(PvmDataDefault);
            pvm_send(parent, (me * 7 + i * 5) % 20);
            usleep(me % 512 * 7919 % 1000);
        }
        pvm_exit();
        return 0;
    }
    printf("%x %x\n", pvm_setopt(PvmOutputTid, me), pvm_getopt(PvmOutputTid) == me);
    pvm_setopt(PvmOutputTid, 0);
    pvm_setopt(PvmRoute, PvmRouteDirect);
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 3, tids);
    int (*usual)(int, int, int) = pvm_recvf(greatest);
    usleep(2500);
    for (int i = 0; i < 12; i++) {
        int tag, source;
        if (i == 9 && pvm_recvf(usual) != greatest)
            printf("another function\n");
        pvm_bufinfo(pvm_recv(-1, -1), NULL, &tag, &source);
        printf("%d from t%x\n", tag, source);
    }
    pvm_exit();
    return 0;
}
