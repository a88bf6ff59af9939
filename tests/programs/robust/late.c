// Waits for a signal by sigwait; its sender works for two seconds before it sends it, and says so in plain memory.
//@ flags: -pthread
#include "../order.h"
#include <signal.h>
static pthread_t receiver;
static volatile int said;
static void *send(void *unused) {
    unsigned long long began = __builtin_ia32_rdtsc();
    while (__builtin_ia32_rdtsc() - began < 6000000000ull) __asm__ volatile("");
    said = 1;
    pthread_kill(receiver, SIGUSR1);
    return unused;
}
int main(void) {
    pthread_t sender;
    sigset_t one;
    int number;
    sigemptyset(&one), sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, NULL);
    receiver = pthread_self();
    pthread_create(&sender, NULL, send, NULL);
    sigwait(&one, &number);
    printf("said %d\n", said);
    pthread_join(sender, NULL);
    return 0;
}
