// Processes hand a token round with a condition variable in shared memory; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: fork wait pthread_cond_init pthread_cond_wait pthread_cond_broadcast
#include "order.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static struct shared { pthread_mutex_t lock; pthread_cond_t more; int items, len, log[1024]; } *shared;
static void consume(int id) {
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&shared->lock);
        while (shared->items == 0) pthread_cond_wait(&shared->more, &shared->lock);
        shared->items--;
        shared->log[shared->len++] = id;
        pthread_mutex_unlock(&shared->lock);
        jitter();
    }
    _exit(0);
}
int main(void) {
    pthread_mutexattr_t mutex;
    pthread_condattr_t cond;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->lock, &mutex);
    pthread_condattr_init(&cond);
    pthread_condattr_setpshared(&cond, PTHREAD_PROCESS_SHARED);
    pthread_cond_init(&shared->more, &cond);
    for (int id = 1; id <= 3; id++)
        if (fork() == 0) consume(id);
    for (int i = 0; i < 60; i++) {
        jitter();
        pthread_mutex_lock(&shared->lock);
        shared->items++;
        shared->log[shared->len++] = 0;
        pthread_cond_broadcast(&shared->more);
        pthread_mutex_unlock(&shared->lock);
    }
    for (int i = 0; i < 3; i++) wait(NULL);
    for (int i = 0; i < shared->len; i++) note(shared->log[i]);
    print_order();
    return 0;
}
