// Handlers that only set a flag, at which a loop looks: how often it went round must come back. The signals come from
// timers, from another thread, and from another process.
//@ flags: -pthread -Wno-deprecated-declarations
//@ replay: 20 times, same stdout
//@ covers: alarm ualarm setitimer timer_settime timer_delete sigprocmask pthread_sigmask sighold sigrelse sigblock sigsetmask
#include "order.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t flag;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t go;
static pthread_t looker;

static void hit(int number) { flag = number; }

// Rounds of lock and unlock until the flag is set. It is looked at in the middle, too.
static void look(const char *who) {
    long rounds = 0;
    int within = 0;
    while (!flag) {
        pthread_mutex_lock(&lock);
        rounds++;
        for (volatile int i = 0; i < 5000; i++) {}
        within = flag;
        pthread_mutex_unlock(&lock);
    }
    printf("%s %ld %d\n", who, rounds, within);
    flag = 0;
}

static void *send(void *unused) {
    for (int i = 0; i < 5; i++) {
        sem_wait(&go);
        for (int j = 0; j < 20; j++) jitter();
        pthread_kill(looker, SIGUSR1);
    }
    return unused;
}

int main(void) {
    pthread_t sender;
    sigset_t set, before;
    timer_t timer;
    looker = pthread_self();
    sem_init(&go, 0, 0);
    struct sigaction action = {.sa_handler = hit};
    sigaction(SIGALRM, &action, NULL), sigaction(SIGUSR1, &action, NULL);

    for (int i = 0; i < 5; i++) {
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 300 + 70 * i}, NULL);
        look("interval");
    }
    alarm(100);
    ualarm(400, 0), look("ualarm");
    timer_create(CLOCK_MONOTONIC, NULL, &timer);
    timer_settime(timer, 0, &(struct itimerspec){.it_value.tv_nsec = 300000}, NULL), look("timer");
    timer_delete(timer);

    // One that is blocked comes when it is let in, before the call returns.
    for (int how = 0; how < 5; how++) {
        int old = 0;
        sigemptyset(&set), sigaddset(&set, SIGALRM);
        switch (how) {
        case 0: sigprocmask(SIG_BLOCK, &set, &before); break;
        case 1: pthread_sigmask(SIG_BLOCK, &set, &before); break;
        case 2: case 3: sighold(SIGALRM); break;
        case 4: old = sigblock(1 << (SIGALRM - 1)); break;
        }
        ualarm(100, 0);
        usleep(1000);
        printf("%d ", flag);
        switch (how) {
        case 0: sigprocmask(SIG_SETMASK, &before, NULL); break;
        case 1: pthread_sigmask(SIG_SETMASK, &before, NULL); break;
        case 2: sigrelse(SIGALRM); break;
        case 3: sigset(SIGALRM, hit); break;
        case 4: sigsetmask(old); break;
        }
        printf("%d\n", flag), flag = 0;
    }

    pthread_sigmask(SIG_BLOCK, &(sigset_t){0}, NULL);
    pthread_create(&sender, NULL, send, NULL);
    for (int i = 0; i < 5; i++) sem_post(&go), look("thread");
    pthread_join(sender, NULL);

    for (int i = 0; i < 3; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            for (int j = 0; j < 5; j++) jitter();
            kill(getppid(), SIGUSR1);
            _exit(0);
        }
        look("process");
        while (waitpid(child, NULL, 0) < 0) {}
    }
    return 0;
}
