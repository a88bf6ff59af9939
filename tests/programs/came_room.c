// A reader takes its time: who does not wait for room is given what there is, and as much must be given again.
//@ flags: -O1      //@ replay: 20 times, same stdout      //@ covers: write writev send sendto sendmsg
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static char bytes[100000];
static ssize_t give(int fd, int way) {
    struct iovec parts[2] = {{bytes, 30000}, {bytes, 50000}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    switch (way) {
    case 0: return write(fd, bytes, 70000);
    case 1: return writev(fd, parts, 2);
    case 2: return send(fd, bytes, 60000, MSG_DONTWAIT);
    case 3: return sendto(fd, bytes, 90000, MSG_DONTWAIT, NULL, 0);
    default: return sendmsg(fd, &message, MSG_DONTWAIT);
    }
}
static void to(int *ends, int ways) {
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    if (fork() == 0) {
        char room[5000];
        close(ends[1]);
        for (ssize_t got, sum = 0; (got = read(ends[0], room, sizeof room)) > 0;)
            if ((sum += got) % 7 == 0 || got < 5000) usleep(sum % 300);
        _exit(0);
    }
    close(ends[0]);
    for (int i = 0; i < 40; i++) {
        ssize_t given = give(ends[1], i % ways);
        printf("%zd ", given < 0 ? -(ssize_t)errno : given);
        if (given < 0) usleep(300);
    }
    puts("end"), close(ends[1]), wait(NULL);
}
int main(void) {
    int ends[2];
    if (pipe(ends)) return 1;
    to(ends, 2);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) return 1;
    to(ends, 5);
    return 0;
}
