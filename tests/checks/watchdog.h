// A program that hangs is killed from outside, by a child of its own, as a person would do it.
#ifndef WATCHDOG_H
#define WATCHDOG_H
#include <signal.h>
#include <unistd.h>

static inline void killed_soon(void) {
#ifndef REPAIRED
    pid_t hanging = getpid();
    if (fork() == 0) {
        usleep(300000);
        kill(hanging, SIGKILL);
        _exit(0);
    }
#endif
}
#endif
