// Two children write when they like; which descriptor is ready, and when none is in time, must come again.
//@ flags: -O1 -D_FORTIFY_SOURCE=2      //@ replay: 20 times, same stdout
//@ covers: poll __poll_chk ppoll __ppoll_chk select pselect epoll_wait epoll_pwait epoll_pwait2 epoll_ctl
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>
static int fds[2], set;
static struct timespec soon = {0, 300000};
static int by_poll(int exact) {
    struct pollfd both[2] = {{fds[0], POLLIN, 0}, {fds[1], POLLIN, 0}};
    if ((exact ? ppoll(both, 2, &soon, NULL) : poll(both, 2, 1)) < 0) exit(1);
    return (both[0].revents & POLLIN) | (both[1].revents & POLLIN) << 1 | (both[0].revents | both[1].revents) & POLLHUP;
}
static int by_select(int exact) {
    fd_set readable;
    struct timeval time = {0, 300};
    FD_ZERO(&readable);
    for (int i = 0; i < 2; i++) FD_SET(fds[i], &readable);
    int top = (fds[0] > fds[1] ? fds[0] : fds[1]) + 1;
    if ((exact ? pselect(top, &readable, NULL, NULL, &soon, NULL) : select(top, &readable, NULL, NULL, &time)) < 0) exit(1);
    return (FD_ISSET(fds[0], &readable) != 0) | (FD_ISSET(fds[1], &readable) != 0) << 1;
}
static int by_epoll(int way) {
    struct epoll_event events[2];
    int many = way == 0 ? epoll_wait(set, events, 2, 1) : way == 1 ? epoll_pwait(set, events, 2, 1, NULL)
        : epoll_pwait2(set, events, 2, &soon, NULL), found = 0;
    for (int i = 0; i < many; i++) found = found * 4 + 1 + events[i].data.u32;
    return found;
}
int main(void) {
    int ends[2], never[2], left = 2;
    set = epoll_create1(0);
    if (pipe(never)) return 1;
    for (int i = 0; i < 2; i++) {
        if (pipe(ends)) return 1;
        if (fork() == 0) {
            for (int k = 0; k < 40; k++) if (usleep(100 + (k * 37 + i * 59) % 400), write(ends[1], "x", 1) < 0) _exit(1);
            _exit(0);
        }
        close(ends[1]), fds[i] = ends[0], fcntl(fds[i], F_SETFL, O_NONBLOCK);
        struct epoll_event event = {EPOLLIN | (i ? EPOLLET : 0), {.u32 = i}};
        epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &event);
    }
    for (int turn = 0; left > 0; turn++) {
        char room[8];
        int way = turn % 7, found = way < 2 ? by_poll(way) : way < 4 ? by_select(way - 2) : by_epoll(way - 4);
        printf("%d", found);
        for (int i = 0; i < 2; i++) {
            ssize_t got = read(fds[i], room, sizeof room);
            if (got >= 0) printf(",%zd", got);
            if (got == 0) left--, close(fds[i]), fds[i] = never[0], fcntl(never[0], F_SETFL, O_NONBLOCK);
        }
        putchar(' ');
    }
    putchar('\n');
    while (wait(NULL) > 0) {}
    return 0;
}
