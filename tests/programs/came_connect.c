// Clients connect before anybody listens, and all at once: who was refused, and whose turn was first, must come again.
//@ flags: -pthread -O1      //@ replay: 20 times, same stdout      //@ covers: connect accept accept4 send
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
static struct sockaddr_un name = {.sun_family = AF_UNIX};
static struct sockaddr_in port = {.sin_family = AF_INET};
static void *client(void *own) {
    for (int k = 0; k < 5; k++) {
        int is_local = k % 2, kind = SOCK_STREAM | (k == 4 ? SOCK_NONBLOCK : 0), tries = 0;
        for (int fd;; tries++) {
            fd = socket(is_local ? AF_UNIX : AF_INET, kind, 0);
            int failed = is_local ? connect(fd, (void *)&name, sizeof name) : connect(fd, (void *)&port, sizeof port);
            if (failed && errno == EINPROGRESS) {
                struct pollfd one = {fd, POLLOUT, 0};
                poll(&one, 1, -1), failed = one.revents != POLLOUT;
            }
            char text[32];
            snprintf(text, sizeof text, "%ld.%d", (long)own, k);
            if (!failed && send(fd, text, sizeof text, 0) == sizeof text) { close(fd); break; }
            close(fd), usleep(200);
        }
        if (k == 0) printf("%s after being refused\n", tries > 0 ? "served" : "served at once, not");
    }
    return NULL;
}
int main(void) {
    int local = socket(AF_UNIX, SOCK_STREAM, 0), world = socket(AF_INET, SOCK_STREAM, 0);
    socklen_t length = sizeof port;
    pthread_t threads[2];
    snprintf(name.sun_path + 1, 60, "came-%d", (int)getpid());
    port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(local, (void *)&name, sizeof name) || bind(world, (void *)&port, sizeof port)) return 1;
    getsockname(world, (void *)&port, &length);
    if (fork() == 0) { // the one who is served, with two threads
        for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, client, (void *)i);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        return 0;
    }
    usleep(2000);
    if (listen(local, 16) || listen(world, 16)) return 1;
    for (int served = 0; served < 10;) {
        struct pollfd both[2] = {{local, POLLIN, 0}, {world, POLLIN, 0}};
        poll(both, 2, -1);
        for (int i = 0; i < 2; i++) {
            if (!(both[i].revents & POLLIN)) continue;
            int fd = i ? accept(world, NULL, NULL) : accept4(local, NULL, NULL, SOCK_CLOEXEC);
            char text[32] = "";
            for (size_t got = 0; got < sizeof text;) got += recv(fd, text + got, sizeof text - got, 0);
            printf("%s\n", text), close(fd), served++;
        }
    }
    wait(NULL);
    return 0;
}
