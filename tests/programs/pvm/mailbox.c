// Tasks leave notes in mailboxes: who was first, what was found and what was not, comes back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_putinfo pvm_recvinfo pvm_delinfo pvm_getmboxinfo pvm_insert pvm_lookup pvm_delete
#include <pvm3.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int me = pvm_mytid(), parent = pvm_parent(), tids[4], said[5];
    pvm_setopt(PvmAutoErr, 0);
    if (parent > 0) {
        usleep(me % 512 * 7919 % 1000);
        int note = pvm_initsend(PvmDataDefault);
        pvm_pkint(&me, 1, 1);
        said[0] = pvm_putinfo("first", note, PvmMboxDefault);
        said[1] = pvm_putinfo("all", note, PvmMboxMultiInstance);
        said[2] = said[4] = 0;
        said[3] = pvm_insert("old", -1, me);
        if (pvm_recvinfo("first", 0, PvmMboxWaitForInfo) > 0)
            pvm_upkint(&said[2], 1, 1);
        pvm_lookup("old", -1, &said[4]);
        pvm_initsend(PvmDataDefault);
        pvm_pkint(said, 5, 1);
        pvm_send(parent, 1);
        pvm_recv(parent, 2);
        if (said[0] >= 0)
            pvm_delinfo("first", said[0], 0);
        pvm_delete("old", said[3]);
        pvm_exit();
        return 0;
    }
    printf("%d\n", pvm_recvinfo("first", 0, PvmMboxDefault));
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 4, tids);
    for (int i = 0; i < 4; i++) {
        int source;
        pvm_bufinfo(pvm_recv(-1, 1), NULL, NULL, &source);
        pvm_upkint(said, 5, 1);
        printf("t%x: put %d, %d, found t%x; inserted %d, found t%x\n", source, said[0], said[1], said[2], said[3], said[4]);
    }
    int classes = 0;
    struct pvmmboxinfo *info;
    pvm_getmboxinfo("all", &classes, &info);
    for (int i = 0; i < classes; i++)
        for (int j = 0; j < info[i].mi_nentries; j++)
            printf("%s %d of t%x\n", info[i].mi_name, info[i].mi_indices[j], info[i].mi_owners[j]);
    pvm_initsend(PvmDataDefault);
    pvm_mcast(tids, 4, 2);
    pvm_exit();
    return 0;
}
