// What is asked of a process or a thread by the id that the program knows must still mean it.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sched_setaffinity sched_getaffinity sched_setscheduler sched_getscheduler sched_setparam sched_getparam
//@ covers: sched_rr_get_interval getpriority setpriority prlimit prlimit64 clock_getcpuclockid pidfd_open
//@ covers: process_vm_readv process_vm_writev syscall fcntl
#define _GNU_SOURCE
#include "order.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#define TELL(call) printf("%s: %d\n", #call, (int)(call))
static void ask(pid_t id) {
    struct sched_param how = {0};
    struct timespec time;
    struct rlimit limit;
    cpu_set_t set;
    TELL(sched_getaffinity(id, sizeof set, &set)), TELL(sched_setaffinity(id, sizeof set, &set));
    TELL(sched_setscheduler(id, SCHED_OTHER, &how)), TELL(sched_getscheduler(id)), TELL(sched_getparam(id, &how));
    TELL(sched_setparam(id, &how)), TELL(sched_rr_get_interval(id, &time));
    TELL(setpriority(PRIO_PROCESS, id, 7)), TELL(getpriority(PRIO_PROCESS, id)), TELL(getpriority(PRIO_USER, getuid()) < 20);
    TELL(prlimit(id, RLIMIT_CORE, NULL, &limit)), TELL(prlimit64(id, RLIMIT_CORE, NULL, (void *)&limit));
}
static void *body(void *unused) { return ask(gettid()), unused; }
int main(void) {
    static int word = 1, copy;
    int ends[2];
    char byte;
    clockid_t clock;
    struct iovec here = {&copy, sizeof copy}, there = {&word, sizeof word};
    if (pipe(ends)) return 1;
    pid_t child = fork();
    if (child == 0) {
        word = 42;
        close(ends[1]), close(ends[0]);
        for (;;) pause();
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1)) return 2;
    ask(child), ask(getpid()), run_threads(1, body);
    TELL(clock_getcpuclockid(child, &clock)), TELL(pidfd_open(child, 0) >= 0);
    TELL(syscall(SYS_pidfd_open, child, 0) >= 0);
    TELL(process_vm_readv(child, &here, 1, &there, 1, 0)), TELL(copy);
    TELL(process_vm_writev(child, &here, 1, &there, 1, 0));
    TELL(fcntl(ends[0], F_SETOWN, child)), TELL(fcntl(ends[0], F_GETOWN) == child);
    TELL(kill(child, SIGKILL)), TELL(waitpid(child, NULL, 0) == child);
    return 0;
}
