// The only thread waits for a semaphore that a child process will post.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/wait.h>
int main(void) {
    sem_t *go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(go, 1, 0);
    if (fork() == 0) {
        usleep(50000);
        sem_post(go);
        _exit(0);
    }
    sem_wait(go);
    wait(NULL);
    puts("posted");
    return 0;
}
