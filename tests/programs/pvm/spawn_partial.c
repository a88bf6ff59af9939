// Spawns of which some or all fail: the counts and the codes come back, and so does the order of those that started.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_spawn
#include <pvm3.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int parent = pvm_parent(), tids[5];
    if (parent > 0) {
        pvm_initsend(PvmDataDefault);
        pvm_send(parent, argc > 1 ? argv[1][0] : 0);
        pvm_exit();
        return 0;
    }
    pvm_setopt(PvmAutoErr, 0);
    int none = pvm_spawn("no-such-program-anywhere", NULL, PvmTaskDefault, "", 3, tids);
    printf("%d: %d %d %d\n", none, tids[0], tids[1], tids[2]);
    int nowhere = pvm_spawn(argv[0], NULL, PvmTaskHost, "no-such-host", 2, tids);
    printf("%d: %d %d\n", nowhere, tids[0], tids[1]);
    printf("%d\n", pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 0, tids));
    int started = 0;
    for (int i = 0; i < 3; i++)
        started += pvm_spawn(argv[0], (char *[]){(char[]){'a' + i, 0}, NULL}, PvmTaskDefault, "", 2, i == 1 ? NULL : tids);
    for (int i = 0; i < started; i++) {
        int tag, source;
        pvm_bufinfo(pvm_recv(-1, -1), NULL, &tag, &source);
        printf("t%x %c\n", source, tag);
    }
    pvm_exit();
    return 0;
}
