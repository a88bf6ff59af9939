// Receives with a time-out: whether the message or the time came first, comes back; a replay waits for no time.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_trecv
#include <pvm3.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int parent = pvm_parent(), tids[3], timeouts = 0;
    if (parent > 0) {
        for (int i = 0; i < 4; i++) {
            usleep(1000 + pvm_mytid() % 512 * 7919 % 3000);
            pvm_initsend(PvmDataDefault);
            pvm_send(parent, i);
        }
        pvm_exit();
        return 0;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 3, tids);
    for (int got = 0; got < 12;) {
        struct timeval time = {0, 700};
        int buffer = pvm_trecv(-1, -1, &time), tag, source;
        if (buffer == 0) {
            timeouts++;
        } else {
            got++;
            pvm_bufinfo(buffer, NULL, &tag, &source);
            printf("%d time-outs, then %d from t%x\n", timeouts, tag, source);
        }
    }
    pvm_exit();
    return 0;
}
