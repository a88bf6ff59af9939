// The main thread spins with all signals blocked; then it lets them in. None was sent.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

static atomic_int flag;
static volatile sig_atomic_t handled;

static void handler(int number) { handled = number; }

static void *setter(void *unused) {
    flag = 1;
    return unused;
}

int main(void) {
    pthread_t thread;
    sigset_t all, before;
    for (int number = 1; number < NSIG; number++) signal(number, handler);
    pthread_create(&thread, NULL, setter, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (!flag) {}
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    printf("handled %d\n", (int)handled);
    pthread_join(thread, NULL);
    return 0;
}
