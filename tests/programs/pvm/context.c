// Two contexts, the same tags in both: each receive gets its own kind, and the numbers of the contexts come back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_newcontext pvm_setcontext pvm_getcontext pvm_freecontext
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[3], context, plain = pvm_getcontext();
    if (parent > 0) {
        pvm_recv(parent, 1);
        pvm_upkint(&context, 1, 1);
        for (int i = 0; i < 4; i++) {
            usleep(me % 512 * 7919 % 1200);
            int before = pvm_setcontext(i % 2 ? context : plain);
            pvm_initsend(PvmDataDefault);
            pvm_pkint(&i, 1, 1);
            pvm_send(parent, 5);
            pvm_setcontext(before);
        }
        pvm_exit();
        return 0;
    }
    context = pvm_newcontext();
    printf("in %d, new %d\n", plain, context);
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 3, tids);
    pvm_initsend(PvmDataDefault);
    pvm_pkint(&context, 1, 1);
    pvm_mcast(tids, 3, 1);
    for (int kind = 1; kind >= 0; kind--) {
        pvm_setcontext(kind ? context : plain);
        for (int i = 0; i < 6; i++) {
            int source, number;
            pvm_bufinfo(pvm_recv(-1, 5), NULL, NULL, &source);
            pvm_upkint(&number, 1, 1);
            printf("in %d: %d from t%x\n", pvm_getcontext(), number, source);
        }
    }
    printf("%d\n", pvm_freecontext(context));
    pvm_exit();
    return 0;
}
