// A master that looks before it receives: how often it saw nothing, and what it saw first, comes back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_probe pvm_getminfo pvm_setminfo
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[3], nothing = 0;
    if (parent > 0) {
        for (int i = 0; i < 4; i++) {
            usleep(2000 + me % 512 * 7919 % 2500);
            pvm_initsend(PvmDataDefault);
            pvm_pkint(&i, 1, 1);
            pvm_send(parent, 10 + i);
        }
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 3, tids);
    for (int got = 0; got < 12;) {
        int seen = pvm_probe(-1, -1), body;
        struct pvmminfo info;
        if (seen == 0) {
            nothing++;
            usleep(100);
            continue;
        }
        pvm_getminfo(seen, &info);
        int buffer = pvm_recv(info.src, info.tag);
        pvm_upkint(&body, 1, 1);
        printf("%d times nothing, then t%x %d to t%x (%d)\n", nothing, info.src, info.tag, info.dst, body);
        info.src = me;
        pvm_setminfo(buffer, &info);
        pvm_getminfo(buffer, &info);
        if (info.src != me)
            printf("lost\n");
        got++;
    }
    pvm_exit();
    return 0;
}
