// Calls that wait for the outside are ended by a handler, and only by that: each must end so again.
//@ flags: -O2 -D_FORTIFY_SOURCE=2
//@ replay: 20 times, same stdout
//@ covers: read __read_chk readv pread pread64 recv __recv_chk recvfrom __recvfrom_chk recvmsg recvmmsg accept accept4 open
//@ covers: poll __poll_chk select pselect ppoll __ppoll_chk epoll_wait epoll_pwait
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
static volatile sig_atomic_t hits;
static void hit(int number) { hits += number == SIGALRM; }
static void tell(const char *name, long result) { printf("%s %ld %d after %d\n", name, result, errno, hits); }
#define ENDED(call) (errno = 0, tell(#call, (long)(call)))
int main(int argc, char **argv) {
    struct sigaction act = {.sa_handler = hit};
    struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    struct sockaddr_un here = {.sun_family = AF_UNIX};
    int ends[2], pipes[2], server = socket(AF_UNIX, SOCK_STREAM, 0), epoll = epoll_create1(0), n = argc * 16;
    char bytes[64], name[] = "fifo-XXXXXX", *to = argc > 1 ? argv[1] : bytes;
    struct iovec part = {bytes, 1};
    struct mmsghdr many = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
    struct pollfd none[1];
    sigset_t open_set, blocked;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) || pipe(pipes) || bind(server, (void *)&here, sizeof here.sun_family)
        || listen(server, 1) || !mktemp(name) || mkfifo(name, 0600)) return 1;
    none[0] = (struct pollfd){ends[0], POLLIN, 0};
    sigemptyset(&open_set), sigemptyset(&blocked), sigaddset(&blocked, SIGALRM);
    sigaction(SIGALRM, &act, NULL), setitimer(ITIMER_REAL, &often, NULL);
    ENDED(read(pipes[0], to, 1)), ENDED(read(pipes[0], bytes, n)), ENDED(readv(pipes[0], &part, 1));
    ENDED(pread(pipes[0], to, 1, 0)), ENDED(pread64(pipes[0], to, 1, 0)); // no such thing with a pipe
    ENDED(recv(ends[0], to, 1, 0)), ENDED(recv(ends[0], bytes, n, 0));
    ENDED(recvfrom(ends[0], to, 1, 0, NULL, NULL)), ENDED(recvfrom(ends[0], bytes, n, 0, NULL, NULL));
    ENDED(recvmsg(ends[0], &many.msg_hdr, 0)), ENDED(recvmmsg(ends[0], &many, 1, 0, NULL));
    ENDED(accept(server, NULL, NULL)), ENDED(accept4(server, NULL, NULL, 0)), ENDED(open(name, O_RDONLY));
    ENDED(poll(none, 1, -1)), ENDED(poll(none, n / 16, -1)), ENDED(epoll_wait(epoll, (void *)bytes, 1, -1));
    ENDED(select(0, NULL, NULL, NULL, NULL)), ENDED(pselect(0, NULL, NULL, NULL, NULL, NULL));
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    ENDED(pselect(0, NULL, NULL, NULL, NULL, &open_set)), ENDED(ppoll(none, 1, NULL, &open_set));
    ENDED(ppoll(none, n / 16, NULL, &open_set)), ENDED(epoll_pwait(epoll, (void *)bytes, 1, -1, &open_set));
    setitimer(ITIMER_REAL, &never, NULL);
    return unlink(name);
}
