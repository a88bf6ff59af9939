// A ppoll blocks a signal that comes, and another one ends it: both are handled before it returns, in this order or that.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: ppoll pthread_kill
#include "order.h"
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>

enum { ROUNDS = 50 };
static sem_t goes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void came(int number) { // an event, so that the end of the call is found only behind it
    pthread_mutex_lock(&lock);
    note(number);
    pthread_mutex_unlock(&lock);
}
static void *waiter(void *unused) {
    sigset_t other;
    sigemptyset(&other), sigaddset(&other, SIGUSR2);
    for (int round = 0; round < ROUNDS; round++) {
        sem_post(&goes);
        if (ppoll(NULL, 0, NULL, &other) == 0 || errno != EINTR) return "not ended";
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    void *wrong;
    sigset_t one;
    struct sigaction action = {.sa_handler = came};
    sigaction(SIGUSR1, &action, NULL), sigaction(SIGUSR2, &action, NULL);
    sem_init(&goes, 0, 0);
    sigemptyset(&one), sigaddset(&one, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &one, NULL); // until it waits
    pthread_create(&thread, NULL, waiter, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        sem_wait(&goes);
        for (int i = 0; i < 20; i++) jitter();
        pthread_kill(thread, SIGUSR2);
        jitter();
        pthread_kill(thread, SIGUSR1);
    }
    pthread_join(thread, &wrong);
    printf("%s ", wrong ? (char *)wrong : "ended");
    print_order();
    return 0;
}
