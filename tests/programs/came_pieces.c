// A child's output comes in whatever pieces the reader finds: each call must bring as many bytes as it brought.
//@ flags: -O1      //@ replay: 20 times, same stdout
//@ covers: read readv recv recvfrom recvmsg
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static char room[300];
static int call_number;
static struct iovec parts[2] = {{room, 7}, {room + 7, 250}};
static ssize_t take(int fd) {
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    switch (call_number++ % 5) {
    case 0: return recv(fd, room, 200, MSG_DONTWAIT);
    case 1: return recvfrom(fd, room, 200, 0, NULL, NULL);
    case 2: return recvmsg(fd, &message, 0);
    case 3: return readv(fd, parts, 2);
    default: return read(fd, room, 11);
    }
}
static void from(int (*make)(int *), ssize_t (*take_from)(int)) {
    int ends[2];
    if (make(ends)) exit(1);
    if (fork() == 0) {
        for (int i = 0; i < 60; i++) {
            if (write(ends[1], "0123456789abcdefghij", 1 + i % 20) < 0) _exit(1);
            if (i % 3 == 0) usleep(50 + i * 7 % 300);
        }
        _exit(0);
    }
    close(ends[1]);
    for (ssize_t got; (got = take_from(ends[0])) != 0;) {
        printf("%zd ", got < 0 ? -(ssize_t)errno : got);
        for (volatile int i = 0; i < 40000 + call_number % 7 * 20000;) i++;
    }
    puts("end");
    close(ends[0]), wait(NULL);
}
static int sockets(int *ends) { return socketpair(AF_UNIX, SOCK_STREAM, 0, ends); }
static int unwaiting(int *ends) { return pipe2(ends, 0) || fcntl(ends[0], F_SETFL, O_NONBLOCK); }
static ssize_t plainly(int fd) { return read(fd, room, sizeof room); }
int main(void) {
    from(sockets, take);
    from(pipe, plainly);
    from(unwaiting, plainly);
    return 0;
}
