// A broadcast wakes five waiters; the order in which they go on must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_cond_wait pthread_cond_broadcast
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int round_now, waiting;
static void *body(void *id) {
    for (int i = 0; i < 25; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        if (++waiting == 5) {
            waiting = 0;
            round_now++;
            pthread_cond_broadcast(&turn);
        } else
            for (int mine = round_now; mine == round_now;) pthread_cond_wait(&turn, &lock);
        note((int)(long)id + 10);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    run_threads(5, body);
    print_order();
    return 0;
}
