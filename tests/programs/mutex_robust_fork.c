// Processes share a robust mutex in shared memory. Some die while they have it; one waits for a condition with it.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: fork wait pthread_mutex_consistent pthread_cond_wait pthread_cond_signal
#include "order.h"
#include <errno.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static struct shared { pthread_mutex_t lock; pthread_cond_t more; int len; int log[1024]; } *shared;
static void had(int id, int result) {
    if (result == EOWNERDEAD) {
        shared->log[shared->len++] = 9;
        pthread_mutex_consistent(&shared->lock);
    }
    shared->log[shared->len++] = id;
}
static void work(int id) {
    for (int i = 0; i < 40; i++) {
        jitter();
        had(id, pthread_mutex_lock(&shared->lock));
        if (id > 1 && i == 10 * id) _exit(0);
        if (i % 5 == 0) pthread_cond_signal(&shared->more);
        pthread_mutex_unlock(&shared->lock);
    }
    _exit(0);
}
int main(void) {
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &mutex);
    pthread_condattr_init(&cond);
    pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->more, &cond);
    for (int id = 1; id <= 3; id++)
        if (fork() == 0) work(id);
    had(0, pthread_mutex_lock(&shared->lock));
    while (shared->len < 60) had(0, pthread_cond_wait(&shared->more, &shared->lock));
    pthread_mutex_unlock(&shared->lock);
    while (wait(NULL) > 0) continue;
    had(0, pthread_mutex_lock(&shared->lock));
    for (int i = 0; i < shared->len; i++) note(shared->log[i]);
    print_order();
    return 0;
}
