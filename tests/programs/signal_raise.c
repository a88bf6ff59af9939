// Signals that threads send to themselves, by raise, pthread_kill and sigqueue; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: raise pthread_kill sigqueue signal sigaction getpid
#include "order.h"
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread volatile sig_atomic_t me, hits;
static volatile sig_atomic_t queued;
static void hit(int signal) {
    hits += signal == SIGUSR1 ? 1 : 50;
}
static void info(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    queued = queued * 3 + info->si_value.sival_int;
}
static void *body(void *id) {
    me = (int)(long)id;
    for (int i = 0; i < 30; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note(me);
        raise(SIGUSR1); // handled before raise returns
        note((int)hits);
        if (i % 5 == 0) pthread_kill(pthread_self(), SIGUSR2);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    struct sigaction action = {.sa_sigaction = info, .sa_flags = SA_SIGINFO};
    signal(SIGUSR1, hit);
    signal(SIGUSR2, hit);
    sigaction(SIGRTMIN, &action, NULL);
    run_threads(3, body);
    for (int i = 0; i < 5; i++) sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i});
    printf("%d ", (int)queued);
    print_order();
    return 0;
}
