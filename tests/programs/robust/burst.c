// Bursts of queued signals to a thread that locks all the time: every one is handled, wherever the burst finds it.
//@ flags: -pthread
#include "../order.h"
#include <sched.h>
#include <signal.h>
enum { BURSTS = 100, BURST = 40 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static long total, handled, sum;
static int done;
static void tick(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    pthread_mutex_lock(&inner);
    handled++;
    sum += info->si_value.sival_int;
    pthread_mutex_unlock(&inner);
}
static long seen(void) {
    pthread_mutex_lock(&inner);
    long now = handled;
    pthread_mutex_unlock(&inner);
    return now;
}
static void *body(void *id) {
    for (int ended = 0; !ended;) {
        pthread_mutex_lock(&lock);
        total += (long)id;
        ended = done;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[2];
    sigset_t set;
    struct sigaction action = {.sa_sigaction = tick, .sa_flags = SA_RESTART | SA_SIGINFO};
    sigaction(SIGRTMIN, &action, NULL);
    sigemptyset(&set), sigaddset(&set, SIGRTMIN);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < BURSTS; i++) {
        for (int k = 0; k < BURST; k++)
            pthread_sigqueue(threads[0], SIGRTMIN, (union sigval){.sival_int = k});
        while (seen() < (long)(i + 1) * BURST)
            sched_yield();
    }
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    printf("handled %ld, sum %ld\norder %ld\n", handled, sum, total);
    return 0;
}
