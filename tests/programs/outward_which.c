// Which of many reads a handler ends, in which a handler runs, which one is left by a jump or a cancellation: as it was.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: read poll siglongjmp pthread_cancel
#include "order.h"
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
static int pipes[2], others[2];
static sigjmp_buf back;
static pthread_t first;
static volatile sig_atomic_t hits, restarts, reads;
static void hit(int number) {
    if ((hits += number == SIGALRM) % 5 == 0 && reads) siglongjmp(back, 1);
}
static void restart(int number) { restarts += number == SIGUSR1, errno = 0; }
static void *give(void *unused) {
    for (int i = 0; i < 100; i++) {
        for (int j = 0; j < 10; j++) jitter();
        if (i % 7 == 0) pthread_kill(first, SIGUSR1);
        if (write(pipes[1], "x", 1) != 1) return NULL;
    }
    close(pipes[1]);
    return unused;
}
static void gone(void *many) { printf("cancelled after %d\n", *(int *)many); }
static void *take(void *unused) {
    int many = 0;
    pthread_cleanup_push(gone, &many);
    for (;; many++) {
        poll(&(struct pollfd){others[0], POLLIN, 0}, 1, many % 2 ? -1 : 0);
        if (read(others[0], &(char){0}, 1) != 1) break;
    }
    pthread_cleanup_pop(1);
    return unused;
}
int main(void) {
    struct itimerval often = {{0, 300}, {0, 300}};
    struct sigaction ends = {.sa_handler = hit}, goes_on = {.sa_handler = restart, .sa_flags = SA_RESTART};
    pthread_t giver, taker;
    sigset_t timer;
    if (pipe(pipes) || pipe(others)) return 1;
    first = pthread_self(), sigemptyset(&timer), sigaddset(&timer, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &timer, NULL);
    sigaction(SIGALRM, &ends, NULL), sigaction(SIGUSR1, &goes_on, NULL);
    pthread_create(&giver, NULL, give, NULL), pthread_create(&taker, NULL, take, NULL);
    pthread_sigmask(SIG_UNBLOCK, &timer, NULL), setitimer(ITIMER_REAL, &often, NULL);
    if (sigsetjmp(back, 1)) reads = 0, putchar('J');
    for (ssize_t one = 1; one != 0;) {
        char byte;
        reads = 1, one = read(pipes[0], &byte, 1), reads = 0;
        printf("%c%d,%d ", one == 1 ? 'd' : one == 0 ? '.' : errno == EINTR ? 'E' : '?', hits, restarts);
    }
    alarm(0);
    if (write(others[1], "xxxxx", 5) != 5) return 1;
    for (int j = 0; j < 50; j++) jitter();
    pthread_cancel(taker);
    return pthread_join(taker, NULL) | pthread_join(giver, NULL);
}
