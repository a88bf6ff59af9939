// Signals interrupt waits for a semaphore; how often must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sem_wait sem_timedwait sem_post setitimer sigaction pthread_sigmask
#include "order.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
static sem_t sem;
static volatile sig_atomic_t handled;
static void hit(int signal) { handled += signal == SIGALRM; }
static void *post(void *unused) {
    for (int i = 0; i < 20; i++) {
        for (int j = 0; j < 40; j++) jitter();
        sem_post(&sem);
    }
    return unused;
}
int main(void) {
    pthread_t poster;
    struct sigaction action = {.sa_handler = hit}; // without SA_RESTART
    sigset_t alarms, before;
    struct timespec far;
    sem_init(&sem, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, &before);
    pthread_create(&poster, NULL, post, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    clock_gettime(CLOCK_REALTIME, &far);
    far.tv_sec += 10;
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 100}, {0, 100}}, NULL);
    for (int i = 0; i < 20; i++) {
        int interrupted = 0;
        while ((i % 2 ? sem_timedwait(&sem, &far) : sem_wait(&sem)) != 0) interrupted += errno == EINTR;
        printf("%d ", interrupted);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    pthread_join(poster, NULL);
    printf("%s\n", handled > 0 ? "handled" : "quiet");
    return 0;
}
