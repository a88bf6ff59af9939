// RPVM's figures: P3 looks for a message of P1 or P2, fails, looks again, succeeds. As often as it failed, it fails again.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_nrecv
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me = pvm_mytid(), p3 = pvm_parent(), tids[2];
    if (p3 > 0) {
        usleep(20000 + me % 512 * 104729 % 4000);
        pvm_initsend(PvmDataRaw);
        pvm_send(p3, me & 7);
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 2, tids);
    for (int got = 0, failed = 0; got < 2;) {
        int buffer = pvm_nrecv(-1, -1), length, tag, source;
        if (buffer == 0) {
            failed++;
            usleep(50);
            continue;
        }
        pvm_bufinfo(buffer, &length, &tag, &source);
        printf("after %d failures, tag %d from t%x\n", failed, tag, source);
        got++;
    }
    printf("and now %d, ", pvm_nrecv(-1, -1));
    printf("active buffer %d\n", pvm_getrbuf());
    pvm_exit();
    return 0;
}
