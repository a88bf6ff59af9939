// A program that starts the daemon of PVM itself, uses it, and ends it again: every replay does, too.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_start_pvmd pvm_halt pvmbeatask
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int tids[2];
    if (argc > 1) {
        pvm_initsend(PvmDataDefault);
        pvm_send(pvm_parent(), pvm_mytid() & 15);
        pvm_exit();
        return 0;
    }
    signal(SIGTERM, SIG_IGN);
    printf("%d\n", pvm_start_pvmd(1, (char *[]){"-n127.0.0.1", NULL}, 1));
    printf("%d\n", pvm_spawn(argv[0], (char *[]){"task", NULL}, PvmTaskDefault, "", 2, tids));
    for (int i = 0; i < 2; i++) {
        int tag, source;
        pvm_bufinfo(pvm_recv(-1, -1), NULL, &tag, &source);
        printf("%d from t%x\n", tag, source);
    }
    fflush(stdout);
    pvm_halt();
    return 0;
}
