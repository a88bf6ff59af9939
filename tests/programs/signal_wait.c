// A thread that takes signals by sigwait, sigwaitinfo and sigtimedwait; which came, and how often none did, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sigwait sigwaitinfo sigtimedwait kill sigqueue pthread_sigmask getpid
#include "order.h"
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static sigset_t set;
static int none, sum;
static void *take(void *unused) {
    (void)unused;
    for (int i = 0; i < 60; i++) {
        siginfo_t info = {0};
        int signal = -1;
        if (i % 3 == 0 && sigwait(&set, &signal) != 0) return NULL;
        if (i % 3 == 1) signal = sigwaitinfo(&set, &info);
        if (i % 3 == 2)
            while ((signal = sigtimedwait(&set, &info, &(struct timespec){0, 20000})) < 0) none += errno == EAGAIN;
        note(signal - SIGRTMIN);
        sum = sum * 3 + info.si_value.sival_int + (info.si_pid == getpid());
    }
    return NULL;
}
static void *send(void *id) {
    for (int i = 0; i < 20; i++) {
        jitter();
        if (sigqueue(getpid(), SIGRTMIN + (int)(long)id, (union sigval){.sival_int = i})) return id;
    }
    return NULL;
}
int main(void) {
    pthread_t taker;
    sigemptyset(&set);
    for (int i = 1; i <= 3; i++) sigaddset(&set, SIGRTMIN + i);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&taker, NULL, take, NULL);
    run_threads(3, send);
    pthread_join(taker, NULL);
    printf("none %d sum %d ", none, sum);
    print_order();
    return 0;
}
