// Two threads deadlock and a watchdog process kills the program; what was written before, and the end, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: fork kill getppid usleep pthread_mutex_lock pthread_mutex_unlock
//@ ends: 137
#include "apart.h"
#include "order.h"
#include <signal.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    pthread_mutex_t *first = (long)id == 1 ? &a : &b, *second = (long)id == 1 ? &b : &a;
    for (;;) {
        char digit = (char)('0' + (long)id);
        pthread_mutex_lock(first);
        jitter();
        pthread_mutex_lock(second);
        if (write(1, &digit, 1) != 1) return NULL;
        pthread_mutex_unlock(second);
        pthread_mutex_unlock(first);
        for (int i = 0; i < 4; i++) jitter();
    }
}
int main(void) {
    if (fork() == 0) {
        until_it_hangs((int)syscall(SYS_getppid));
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    run_threads(2, body);
    return 0;
}
