// pause returns when a timer rings; what had been done by then must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pause setitimer signal pthread_sigmask pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void nothing(int signal) { (void)signal; }
static void *body(void *id) {
    for (int i = 0; i < 100; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[2];
    sigset_t alarms, before;
    signal(SIGALRM, nothing);
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, &before);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 200}, {0, 200}}, NULL);
    for (int i = 0; i < 6; i++) {
        pause();
        pthread_mutex_lock(&lock);
        note(0);
        pthread_mutex_unlock(&lock);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    print_order();
    return 0;
}
