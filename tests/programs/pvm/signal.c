// A task is sent signals while it works; how far it had come each time, comes back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_sendsig
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void count(int number) {
    signals++;
}

int main(int argc, char **argv) {
    int parent = pvm_parent(), tid, seen[40];
    if (parent > 0) {
        signal(SIGUSR1, count);
        pvm_initsend(PvmDataDefault);
        pvm_send(parent, 1);
        for (int i = 0; i < 40; i++) {
            pvm_nrecv(parent, 7);
            usleep(300);
            seen[i] = signals;
        }
        pvm_initsend(PvmDataDefault);
        pvm_pkint(seen, 40, 1);
        pvm_send(parent, 2);
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 1, &tid);
    pvm_recv(tid, 1);
    for (int i = 0; i < 5; i++) {
        usleep(900);
        pvm_sendsig(tid, SIGUSR1);
    }
    pvm_recv(tid, 2);
    pvm_upkint(seen, 40, 1);
    for (int i = 0; i < 40; i++)
        printf("%d ", seen[i]);
    printf("\n");
    pvm_exit();
    return 0;
}
