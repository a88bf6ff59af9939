// A process with threads forks in one of them; the child has threads of its own. Every order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: fork waitpid pthread_atfork pthread_create pthread_join _exit
#include "order.h"
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void before(void) { pthread_mutex_lock(&lock); }
static void after(void) { pthread_mutex_unlock(&lock); }
static void *body(void *id) {
    for (int i = 0; i < 20; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
static void *forker(void *id) {
    body(id);
    pid_t child = fork(); // the handlers hold the lock, so the log is whole
    if (child == 0) {
        run_threads(3, body);
        _exit((int)(order_hash() % 251));
    }
    int status;
    if (waitpid(child, &status, 0) != child) return NULL;
    pthread_mutex_lock(&lock);
    note(WEXITSTATUS(status));
    pthread_mutex_unlock(&lock);
    return NULL;
}
static void *either(void *id) { return (long)id <= 2 ? forker(id) : body(id); }
int main(void) {
    pthread_atfork(before, after, after);
    run_threads(4, either);
    print_order();
    return 0;
}
