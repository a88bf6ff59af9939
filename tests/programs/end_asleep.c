// The program is killed in a sleep. It must not come further in a replay, where sleeps return at once.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sleep kill
//@ ends: 143
#include "order.h"
#include <signal.h>
#include <unistd.h>
int main(void) {
    int written[2];
    char byte;
    if (pipe(written) != 0) return 4;
    if (fork() == 0) {
        close(written[1]);
        if (read(written[0], &byte, 1) != 0) _exit(1); // until the other end is closed
        usleep(50000);
        kill(getppid(), SIGTERM);
        _exit(0);
    }
    int came = write(1, "sleeps\n", 7) == 7;
    close(written[1]);
    if (came) sleep(1000);
    return 5;
}
