// Processes meet at a named semaphore that each opens for itself; the order in which they pass it must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sem_open sem_close sem_unlink sem_wait sem_post fork wait getpid
#include "order.h"
#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static struct shared { int len, log[1024]; } *shared;
static char name[64];
static void work(int id) {
    sem_t *lock = sem_open(name, O_CREAT, 0600, 1);
    if (lock == SEM_FAILED) _exit(1);
    for (int i = 0; i < 40; i++) {
        jitter();
        sem_wait(lock);
        shared->log[shared->len++] = id;
        sem_post(lock);
    }
    sem_close(lock);
}
int main(void) {
    snprintf(name, sizeof name, "/retake-fixture-%d", (int)getpid());
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_unlink(name);
    for (int id = 1; id <= 3; id++)
        if (fork() == 0) {
            work(id);
            _exit(0);
        }
    work(0);
    for (int i = 0; i < 3; i++) {
        int status;
        wait(&status);
        if (status != 0) return 1;
    }
    printf("unlink %d ", sem_unlink(name));
    for (int i = 0; i < shared->len; i++) note(shared->log[i]);
    print_order();
    return 0;
}
