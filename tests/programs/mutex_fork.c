// Processes share a mutex in shared memory; the order in which they take it must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: fork waitpid _exit pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static struct shared { pthread_mutex_t lock; int len; int log[1024]; } *shared;
static void work(int id) {
    for (int i = 0; i < 40; i++) {
        jitter();
        pthread_mutex_lock(&shared->lock);
        shared->log[shared->len++] = id;
        pthread_mutex_unlock(&shared->lock);
    }
}
int main(void) {
    pthread_mutexattr_t attr;
    pid_t children[3];
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &attr);
    for (int id = 1; id <= 3; id++) {
        children[id - 1] = fork();
        if (children[id - 1] == 0) {
            work(id);
            _exit(id);
        }
    }
    work(0);
    for (int i = 0; i < 3; i++) {
        int status;
        if (waitpid(children[i], &status, 0) != children[i]) return 1;
        printf("%d ", WEXITSTATUS(status));
    }
    for (int i = 0; i < shared->len; i++) note(shared->log[i]);
    print_order();
    return 0;
}
