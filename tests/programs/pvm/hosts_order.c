// Tasks on all hosts of the machine tell where they are; the order comes back, on whichever hosts a replay runs them.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_spawn pvm_recv pvm_config
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[6], hosts;
    if (parent > 0) {
        for (int i = 0; i < 3; i++) {
            usleep(me % 512 * 7919 % 1500);
            pvm_initsend(PvmDataDefault);
            pvm_send(parent, i);
        }
        pvm_exit();
        return 0;
    }
    struct pvmhostinfo *host;
    pvm_config(&hosts, NULL, &host);
    for (int i = 0; i < hosts; i++)
        printf("%x %s\n", host[i].hi_tid, host[i].hi_name);
    int started = pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 6, tids);
    for (int i = 0; i < 3 * started; i++) {
        int tag, source;
        pvm_bufinfo(pvm_recv(-1, -1), NULL, &tag, &source);
        printf("%d from t%x at %x\n", tag, source, pvm_tidtohost(source));
    }
    pvm_exit();
    return 0;
}
