// A handler of the old kind serves one signal and is gone; the old handlers that are returned, and the end, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: __sysv_signal signal sigaction raise getrandom
//@ ends: 138
#include "order.h"
#include <signal.h>
#include <sys/random.h>
static volatile sig_atomic_t hits;
static void hit(int number) { hits += number; }
static void again(int number) {
    hits += number;
    __sysv_signal(number, again);
}
int main(void) {
    unsigned char rounds;
    struct sigaction now;
    if (getrandom(&rounds, 1, 0) != 1) return 1;
    printf("first %d ", __sysv_signal(SIGUSR1, again) == SIG_DFL);
    for (int i = 0; i < rounds; i++) raise(SIGUSR1);
    printf("hits %d ", (int)hits);
    printf("mine %d ", signal(SIGUSR1, SIG_IGN) == again);
    raise(SIGUSR1);
    printf("ignored %d ", signal(SIGUSR1, hit) == SIG_IGN);
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &now);
    printf("still mine %d ", now.sa_handler == hit);
    __sysv_signal(SIGUSR1, hit);
    raise(SIGUSR1);
    sigaction(SIGUSR1, NULL, &now);
    printf("gone %d hits %d\n", now.sa_handler == SIG_DFL, (int)hits);
    fflush(stdout);
    raise(SIGUSR1); // the end
    return 0;
}
