// A child that outlives its parent's wait: forked twice, heard through shared memory; what it said must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: fork waitpid _exit setsid sem_init sem_wait sem_post getpid
#include "order.h"
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static struct shared { sem_t lock, done; int len, log[512], pid; } *shared;
static void work(int id) {
    for (int i = 0; i < 40; i++) {
        jitter();
        sem_wait(&shared->lock);
        shared->log[shared->len++] = id;
        sem_post(&shared->lock);
    }
}
int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(&shared->lock, 1, 1);
    sem_init(&shared->done, 1, 0);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        if (fork() != 0) _exit(0);
        shared->pid = getpid();
        work(1);
        sem_post(&shared->done);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    work(2);
    sem_wait(&shared->done);
    for (int i = 0; i < shared->len; i++) note(shared->log[i]);
    printf("%d ", shared->pid);
    print_order();
    return 0;
}
