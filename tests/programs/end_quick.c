// A thread ends the program by quick_exit, or a child by _exit and _Exit; order and statuses must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: quick_exit at_quick_exit _exit _Exit fork waitpid
//@ ends: 6
#include "order.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ender;
static void last(void) {
    print_order();
    fflush(stdout);
}
static void *body(void *id) {
    for (;;) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        if (order_len >= 80) {
            if (ender == 0) quick_exit(6);
            if (ender == 1) _exit((int)(order_hash() % 100));
            _Exit((int)(order_hash() % 100) + 100);
        }
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    at_quick_exit(last);
    for (int i = 1; i < 4; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            ender = i;
            run_threads(3, body);
        }
        waitpid(child, &status, 0);
        printf("%d ", WEXITSTATUS(status));
    }
    run_threads(3, body);
    return 0;
}
