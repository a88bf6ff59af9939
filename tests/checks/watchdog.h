// A program that hangs is killed from outside, by a child of its own, as a person would do it.
#ifndef WATCHDOG_H
#define WATCHDOG_H
#include "../programs/apart.h"
#include <signal.h>

static inline void killed_soon(void) {
#ifndef REPAIRED
    pid_t hanging = getpid();
    if (fork() == 0) {
        until_it_hangs((int)syscall(SYS_getppid));
        kill(hanging, SIGKILL);
        _exit(0);
    }
#endif
}
#endif
