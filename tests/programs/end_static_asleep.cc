// The program is killed in a sleep, before it makes a static variable. In a replay, where sleeps return at once, it must not
// make the variable, and must come to its end.
//@ flags: -std=c++17
//@ replay: 20 times, same stdout
//@ covers: __cxa_guard_acquire sleep
//@ ends: 143
#include "apart.h"
#include <signal.h>
static int made() {
    if (write(1, "made\n", 5) != 5) return 1;
    return 7;
}
static int value() {
    static int it = made();
    return it;
}
int main() {
    if (fork() == 0) {
        until_it_hangs((int)syscall(SYS_getppid));
        kill(getppid(), SIGTERM);
        _exit(0);
    }
    sleep(1000);
    return value();
}
