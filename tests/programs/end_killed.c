// A thread kills the process by SIGKILL; all that was written before, in its order, must come back, and the end.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: kill getpid pthread_mutex_lock pthread_mutex_unlock
//@ ends: 137
#include "order.h"
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (;;) {
        char digit = (char)('0' + (long)id);
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        if (write(1, &digit, 1) != 1 || order_len == 100) kill(getpid(), SIGKILL);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    return 0;
}
