// A hundred values are queued while they are blocked, and let in at once. Each is handled once, in the order of sending.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_sigqueue sigaction
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { MANY = 100 };
static volatile int got[MANY], many;
static pthread_barrier_t queued;

static void handler(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    got[many++ % MANY] = info->si_value.sival_int;
}

static void *target(void *unused) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_barrier_wait(&queued);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    return unused;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    pthread_t thread;
    sigset_t set;
    int ordered = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigaction(SIGRTMIN, &action, NULL);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_barrier_init(&queued, NULL, 2);
    pthread_create(&thread, NULL, target, NULL);
    for (int i = 0; i < MANY; i++) pthread_sigqueue(thread, SIGRTMIN, (union sigval){.sival_int = i});
    pthread_barrier_wait(&queued);
    pthread_join(thread, NULL);
    for (int i = 0; i < MANY; i++) ordered += got[i] == i;
    printf("%d handled, %d in order\n", (int)many, ordered);
    return 0;
}
