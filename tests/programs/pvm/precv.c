// Messages received straight into a buffer: sender, tag and content come back in the order of arrival.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_precv pvm_psend
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[4];
    if (parent > 0) {
        for (int i = 0; i < 5; i++) {
            double data[3] = {me, i, i * 0.5};
            usleep(me % 512 * 104729 % 900);
            pvm_psend(parent, i, data, 3, PVM_DOUBLE);
        }
        int go;
        pvm_precv(parent, 9, &go, 1, PVM_INT, NULL, NULL, NULL);
        pvm_exit();
        return go;
    }
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 4, tids);
    for (int i = 0; i < 20; i++) {
        double data[3] = {0};
        int tid, tag, length;
        int result = pvm_precv(-1, -1, data, 3, PVM_DOUBLE, &tid, &tag, &length);
        printf("%d: t%x %d, %d bytes, %.0f %.0f %.1f\n", result, tid, tag, length, data[0], data[1], data[2]);
    }
    for (int i = 0; i < 4; i++)
        pvm_psend(tids[i], 9, &(int){0}, 1, PVM_INT);
    pvm_exit();
    return 0;
}
