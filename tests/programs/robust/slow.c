// A parent waits for its child, which works for so many seconds of processor time first.
//@ flags: -pthread
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int seconds = argc > 1 ? atoi(argv[1]) : 0;
    sem_t *done = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(done, 1, 0);
    if (fork() == 0) {
        struct rusage used = {0};
        while (used.ru_utime.tv_sec < seconds) {
            for (volatile int i = 0; i < 1000000; i++) {}
            getrusage(RUSAGE_SELF, &used);
        }
        sem_post(done);
        _exit(0);
    }
    sem_wait(done);
    wait(0);
    puts("done");
}
