// A thread ends as soon as it has handled a signal: in a replay, too, its sender must have sent it before.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_kill pthread_attr_setstacksize
//
// A handler can run in a replay before its signal comes. Then the thread could end, and its memory be gone (a stack of this size
// is not kept for the next thread), before the sender had asked libc to send it something.
#include "order.h"
#include <semaphore.h>
#include <signal.h>

enum { ROUNDS = 400, STACK = 256 << 20 };
static pthread_t receiver;
static sem_t goes;
static volatile sig_atomic_t told;

static void tell(int number) { (void)number, told = 1; }
static void *receive(void *unused) {
    while (!told) __asm__ volatile("");
    return unused;
}
static void *send(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        while (sem_wait(&goes) != 0) {}
        pthread_kill(receiver, SIGUSR1);
    }
    return unused;
}
int main(void) {
    pthread_t sender;
    pthread_attr_t large;
    int joined = 0;
    sem_init(&goes, 0, 0);
    signal(SIGUSR1, tell);
    pthread_attr_init(&large), pthread_attr_setstacksize(&large, STACK);
    pthread_create(&sender, NULL, send, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        told = 0;
        pthread_create(&receiver, &large, receive, NULL);
        sem_post(&goes);
        joined += pthread_join(receiver, NULL) == 0;
    }
    pthread_join(sender, NULL);
    printf("%d threads, each joined\n", joined);
    return 0;
}
