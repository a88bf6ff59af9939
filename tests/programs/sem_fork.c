// Processes share an unnamed semaphore; the order in which they pass it must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sem_init sem_wait sem_post fork wait
#include "order.h"
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static struct shared { sem_t lock; int len, log[1024]; } *shared;
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
    for (int id = 1; id <= 3; id++)
        if (fork() == 0) {
            work(id);
            _exit(0);
        }
    work(0);
    while (wait(NULL) > 0) {}
    for (int i = 0; i < shared->len; i++) note(shared->log[i]);
    print_order();
    return 0;
}
