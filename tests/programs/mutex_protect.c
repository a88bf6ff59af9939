// A priority-ceiling mutex: the order, or the refusal where the user may not raise priorities, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <sched.h>
static pthread_mutex_t ceiling, plain = PTHREAD_MUTEX_INITIALIZER;
static int errors[4];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 40; i++) {
        jitter();
        int error = pthread_mutex_lock(&ceiling);
        errors[id] += error;
        pthread_mutex_lock(&plain);
        note(id);
        pthread_mutex_unlock(&plain);
        if (error == 0) pthread_mutex_unlock(&ceiling);
    }
    return NULL;
}
int main(void) {
    struct sched_param param = {.sched_priority = 1};
    pthread_mutexattr_t attr;
    int policy = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT);
    pthread_mutexattr_setprioceiling(&attr, 2);
    if (pthread_mutex_init(&ceiling, &attr) != 0) return 1;
    run_threads(3, body);
    printf("%d %d %d %d ", policy, errors[1], errors[2], errors[3]);
    print_order();
    return 0;
}
