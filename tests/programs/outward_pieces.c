// A child's output comes in other pieces than it came in: that the child has ended is still told, and ends the same wait.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: poll read write fork waitpid
//
// The child sleeps between its lines, and a replay does not: the parent reads several at once. Its handler of SIGCHLD writes to a
// pipe that the parent waits at, as event loops do; it was called in a later `poll` than there are in the replay.
#include "order.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINES = 40 };
static int told[2];

static void tell(int number) { // once is enough: what is there is taken away
    char byte;
    (void)number;
    if (read(told[0], &byte, 1) < 0 && errno != EAGAIN) abort();
    if (write(told[1], "!", 1) != 1) abort();
}
static void child(int to) {
    for (int line = 0; line < LINES; line++) {
        if (write(to, "line\n", 5) != 5) abort();
        usleep(1000);
    }
    close(to);
    usleep(20000);
    _exit(7);
}
int main(void) {
    int out[2], length = 0, has_ended = 0, status;
    char bytes[4096];
    if (pipe(out) != 0 || pipe2(told, O_NONBLOCK) != 0) return 1;
    signal(SIGCHLD, tell);
    pid_t pid = fork();
    if (pid == 0) close(out[0]), child(out[1]);
    close(out[1]);
    struct pollfd fds[] = {{.fd = out[0], .events = POLLIN}, {.fd = told[0], .events = POLLIN}};
    while (fds[0].fd >= 0 || !has_ended) {
        if (poll(fds, 2, -1) < 0) continue;
        if (fds[0].fd >= 0 && fds[0].revents != 0) {
            ssize_t got = read(out[0], bytes, sizeof bytes);
            if (got > 0) length += (int)got;
            if (got == 0) fds[0].fd = -1;
        }
        if (fds[1].revents != 0) has_ended = read(told[0], bytes, 1) == 1;
    }
    waitpid(pid, &status, 0);
    printf("%d bytes, then exit %d\n", length, WEXITSTATUS(status));
    return 0;
}
