// A thread has sent itself a signal; later another sends the process the same one, which the thread only looks for.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_kill sigqueue usleep
//
// The second one is noted as the thread's own, since who sent a signal is not told by it. It does not come by itself where it
// came: in a replay the other does not sleep, and sends it while the thread still works.
#include "order.h"
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

static sem_t goes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t told;

static void tell(int number) { (void)number, told++; }
static void *other(void *unused) {
    while (sem_wait(&goes) != 0) {}
    usleep(100000);
    sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 1});
    return unused;
}
int main(void) {
    pthread_t thread;
    sigset_t one, none;
    int first;
    sem_init(&goes, 0, 0);
    signal(SIGUSR2, tell);
    sigemptyset(&one), sigaddset(&one, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &one, &none);
    pthread_create(&thread, NULL, other, NULL);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    pthread_kill(pthread_self(), SIGUSR2);
    first = told;
    sem_post(&goes);
    for (int work = 0; work < 200000; work++) {
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    while (told < 2) __asm__ volatile("");
    pthread_join(thread, NULL);
    printf("%d behind the first, %d in the end\n", first, told);
    return 0;
}
