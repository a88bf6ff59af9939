// A master tells all slaves at once; each tells its siblings. Who heard whom in which order, comes back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_mcast pvm_siblings pvm_tidtohost
#include <pvm3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SLAVES = 4 };

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[SLAVES], *all;
    if (parent > 0) {
        int count = pvm_siblings(&all), heard[SLAVES] = {0}, n = 0;
        pvm_recv(parent, 1);
        usleep(me % 512 * 104729 % 700);
        pvm_initsend(PvmDataDefault);
        pvm_pkint(&me, 1, 1);
        pvm_mcast(all, count, 2);
        while (n < count - 1) {
            pvm_recv(-1, 2);
            pvm_upkint(&heard[n++], 1, 1);
        }
        pvm_initsend(PvmDataDefault);
        pvm_pkint(&count, 1, 1);
        pvm_pkint(all, count, 1);
        pvm_pkint(heard, n, 1);
        pvm_send(parent, 3);
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", SLAVES, tids);
    pvm_initsend(PvmDataDefault);
    pvm_mcast(tids, SLAVES, 1);
    for (int i = 0; i < SLAVES; i++) {
        int count, their[SLAVES], heard[SLAVES], source;
        pvm_bufinfo(pvm_recv(-1, 3), NULL, NULL, &source);
        pvm_upkint(&count, 1, 1);
        pvm_upkint(their, count, 1);
        pvm_upkint(heard, count - 1, 1);
        printf("t%x at host %x, %s siblings, heard t%x t%x t%x\n", source, pvm_tidtohost(source),
               memcmp(their, tids, sizeof tids) ? "other" : "same", heard[0], heard[1], heard[2]);
    }
    pvm_exit();
    return 0;
}
