// A signal to a process by the id of a thread that blocks it: another one handles it. And one to somebody else's process.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: gettid kill pause pthread_cancel
#include "order.h"
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>
static pid_t id;
static int ends[2];
static pthread_barrier_t all;
static sigset_t blocked;
static volatile sig_atomic_t handled;
static void handler(int number) {
    char byte = 'x';
    handled += number == SIGUSR1;
    if (write(ends[1], &byte, 1) != 1) handled = -1;
}
static void *idle(void *unused) {
    (void)unused;
    id = gettid();
    pthread_barrier_wait(&all);
    for (;;) pause();
}
static void *wait_for_it(void *unused) {
    char byte;
    (void)unused;
    pthread_sigmask(SIG_UNBLOCK, &blocked, NULL);
    pthread_barrier_wait(&all);
    printf("read %d\n", (int)read(ends[0], &byte, 1));
    return NULL;
}
int main(void) {
    struct sigaction action = {.sa_handler = handler};
    pthread_t threads[2];
    if (pipe(ends) != 0) return 1;
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    pthread_barrier_init(&all, NULL, 3);
    pthread_create(&threads[0], NULL, idle, NULL);
    pthread_create(&threads[1], NULL, wait_for_it, NULL);
    pthread_barrier_wait(&all);
    int sent = kill(id, SIGUSR1);
    pthread_join(threads[1], NULL);
    pthread_cancel(threads[0]);
    pthread_join(threads[0], NULL);
    printf("sent %d, handled %d, asked %d\n", sent, (int)handled, kill(1, 0));
    return 0;
}
