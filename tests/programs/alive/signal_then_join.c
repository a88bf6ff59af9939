// A thread signals, then joins the one that it has woken, which has not come back yet. Two wait, one is woken at a time.
//@ flags: -pthread
//@ replay: 3 times
#include "alive.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ready = PTHREAD_COND_INITIALIZER;
static int tickets, waiting;
static void *waiter(void *x) {
    pthread_mutex_lock(&lock);
    waiting++;
    while (tickets == 0) pthread_cond_wait(&ready, &lock);
    tickets--;
    pthread_mutex_unlock(&lock);
    return x;
}
int main(void) {
    for (int round = 0; round < 200; round++) {
        pthread_t first = start(waiter, 0), second = start(waiter, 0);
        for (int seen = 0; seen < 2; sched_yield()) {
            pthread_mutex_lock(&lock);
            seen = waiting;
            pthread_mutex_unlock(&lock);
        }
        pthread_mutex_lock(&lock);
        waiting = 0;
        tickets = 2;
        pthread_mutex_unlock(&lock);
        pthread_cond_signal(&ready);
        pthread_cond_signal(&ready);
        pthread_join(first, NULL);
        pthread_join(second, NULL);
    }
    puts("joined");
    return 0;
}
