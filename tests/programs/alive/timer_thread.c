// Every thread waits; a timer's own thread, which the program did not create, will signal.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
#include <signal.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int done;
static void expired(union sigval value) {
    (void)value;
    pthread_mutex_lock(&lock);
    done = 1;
    pthread_cond_broadcast(&ready);
    pthread_mutex_unlock(&lock);
}
int main(void) {
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = expired};
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) abort();
    struct itimerspec once = {{0, 0}, {0, 100000000}};
    timer_settime(timer, 0, &once, NULL);
    pthread_mutex_lock(&lock);
    while (!done) pthread_cond_wait(&ready, &lock);
    pthread_mutex_unlock(&lock);
    puts("expired");
    return 0;
}
