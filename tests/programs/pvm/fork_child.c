// A task has children of its own by fork and exec; one of them enrols by itself. Ids and order come back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_mytid pvm_recv
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc > 1) {
        int me = pvm_mytid();
        usleep(me % 512 * 7919 % 1500);
        pvm_initsend(PvmDataDefault);
        pvm_pkint(&me, 1, 1);
        pvm_send(atoi(argv[1]), getpid() % 1000);
        pvm_exit();
        return 0;
    }
    char name[12];
    sprintf(name, "%d", pvm_mytid());
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            if (i == 2)
                _exit(7);
            execl(argv[0], argv[0], name, (char *)NULL);
        }
    }
    for (int i = 0; i < 2; i++) {
        int tag, source;
        pvm_bufinfo(pvm_recv(-1, -1), NULL, &tag, &source);
        printf("%d from t%x\n", tag, source);
    }
    for (int i = 0, status; i < 3; i++) {
        wait(&status);
        printf("%d\n", WEXITSTATUS(status) == 7 || status == 0);
    }
    pvm_exit();
    return 0;
}
