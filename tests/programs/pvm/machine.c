// Questions about hosts and tasks, and changes of the machine that fail: the answers come back.
//@ flags: -lpvm3
//@ replay: 20 times, same stdout
//@ covers: pvm_config pvm_tasks pvm_pstat pvm_mstat pvm_archcode pvm_hostsync pvm_addhosts pvm_delhosts
#include <pvm3.h>
#include <stdio.h>
#include <sys/time.h>

int main(int argc, char **argv) {
    int parent = pvm_parent(), tids[2], hosts, kinds, tasks, results[2] = {0};
    if (parent > 0) {
        pvm_recv(parent, 1);
        pvm_exit();
        return 0;
    }
    pvm_setopt(PvmAutoErr, 0);
    struct pvmhostinfo *host;
    struct pvmtaskinfo *task;
    printf("%d\n", pvm_config(&hosts, &kinds, &host));
    printf("%d hosts, %d kinds, first %x %s %s %d %x\n", hosts, kinds, host->hi_tid, host->hi_name, host->hi_arch,
           host->hi_speed, host->hi_dsig);
    pvm_spawn(argv[0], NULL, PvmTaskDefault, "", 2, tids);
    printf("%d\n", pvm_tasks(0, &tasks, &task));
    for (int i = 0; i < tasks; i++)
        printf("t%x of t%x at %x, %x, process %d\n", task[i].ti_tid, task[i].ti_ptid, task[i].ti_host, task[i].ti_flag,
               task[i].ti_pid);
    printf("%d %d %d\n", pvm_pstat(tids[1]), pvm_mstat(host->hi_name), pvm_mstat("no-such-host"));
    printf("%x %d\n", pvm_archcode(host->hi_arch), pvm_archcode("ABACUS"));
    struct timeval clock, delta;
    printf("%d ", pvm_hostsync(host->hi_tid, &clock, &delta));
    printf("%ld.%06ld %ld.%06ld\n", clock.tv_sec, clock.tv_usec, delta.tv_sec, delta.tv_usec);
    char *names[] = {host->hi_name, "no-such-host"};
    printf("%d:", pvm_addhosts(names, 1, results));
    printf(" %d\n", results[0]);
    printf("%d:", pvm_delhosts(names + 1, 1, results));
    printf(" %d\n", results[0]);
    pvm_initsend(PvmDataDefault);
    pvm_mcast(tids, 2, 1);
    pvm_exit();
    return 0;
}
