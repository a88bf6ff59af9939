// What each task probed, unpacked, passed on and packed in every encoding comes back, to each of them alone, too.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pmsg_extend pvm_probe pvm_catchout pvm_send pvm_recv pvm_psend
#include <pvm3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TASKS = 3, LARGE = 5000 };
static double numbers[LARGE], sum;
static char name[40];

static void got(int tag, int elements) {
    pvm_upkstr(name);
    pvm_upkdouble(numbers, elements, 2);
    for (int i = sum = 0; i < elements; i++)
        sum += numbers[2 * i] / (i + 1);
    printf("tag %d: %s, %.17g\n", tag, name, sum);
}

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[TASKS], few[10] = {me}, length, tag, source, buffer;
    if (parent > 0) {
        while ((buffer = pvm_probe(parent, -1)) == 0)
            usleep(100);
        pvm_bufinfo(buffer, &length, &tag, NULL);
        printf("probed %d bytes, same buffer %d\n", length, buffer == pvm_recv(parent, tag));
        pvm_upkint(tids, TASKS, 1);
        got(tag, LARGE / 4); // and leaves the rest
        pvm_setsbuf(pvm_setrbuf(0));
        pvm_send(tids[(tag + 1) % TASKS], 5);
        pvm_recv(-1, 5);
        pvm_upkint(tids, TASKS, 1);
        got(5, LARGE / 2);
        pvm_initsend(PvmDataInPlace);
        pvm_pkint(few, argc > 1 && argv[1][0] == 'y' ? 9 : 10, 1);
        few[1] = argc > 1 && argv[1][0] == 'x' ? 4 : 7;
        pvm_send(parent, 6);
        pvm_initsend(PvmDataRaw);
        pvm_pkdouble(&sum, 1, 1);
        pvm_send(parent, 7);
        pvm_pkstr(name);
        pvm_send(parent, 8);
        pvm_psend(parent, 9, &sum, 1, PVM_DOUBLE);
        pvm_exit();
        return 0;
    }
    pvm_catchout(stdout);
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", TASKS, tids);
    for (int i = 0; i < LARGE; i++)
        numbers[i] = i;
    for (int i = 0; i < TASKS; i++) {
        pvm_packf("%+ %*d %s %*lf", PvmDataDefault, TASKS, tids, i ? "a letter" : "word", LARGE, numbers);
        pvm_send(tids[i], i);
    }
    for (int i = 0; i < 4 * TASKS; i++) {
        pvm_bufinfo(buffer = pvm_recv(-1, -1), &length, &tag, &source);
        tag == 6 ? pvm_upkint(few, 10, 1) : pvm_upkdouble(&sum, 1, 1);
        tag == 8 ? pvm_upkstr(name) : 0;
        printf("t%x, tag %d, %d bytes: %d %.17g %s\n", source, tag, length, few[1], sum, name);
    }
    pvm_exit();
    return 0;
}
