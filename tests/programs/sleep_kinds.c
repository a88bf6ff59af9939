// Every way to sleep, between entries in a log; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sleep usleep nanosleep clock_nanosleep sched_yield select poll pselect ppoll
#include "order.h"
#include <poll.h>
#include <sched.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (int i = 0; i < 40; i++) {
        struct timespec nap = {0, 10000}, at;
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
        jitter();
        switch ((i + (int)(long)id) % 9) {
        case 0: sleep(0); break;
        case 1: usleep(10); break;
        case 2: nanosleep(&nap, NULL); break;
        case 3: clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL); break;
        case 4: sched_yield(); break;
        case 5: select(0, NULL, NULL, NULL, &(struct timeval){0, 10}); break;
        case 6: poll(NULL, 0, 1); break;
        case 7: ppoll(NULL, 0, &nap, NULL); break;
        case 8:
            clock_gettime(CLOCK_REALTIME, &at);
            clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &at, NULL);
            pselect(0, NULL, NULL, NULL, &nap, NULL);
        }
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    print_order();
    return 0;
}
