// Whoever gets what was posted ends its process, before the post has returned: each process must end so again.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sem_post sem_wait fork waitpid _exit
#include "order.h"
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>
static sem_t posted;
static void *body(void *unused) {
    sem_post(&posted);
    return unused;
}
int main(void) {
    for (int round = 0; round < 16; round++) {
        if (fork() == 0) {
            pthread_t thread;
            sem_init(&posted, 0, 0);
            pthread_create(&thread, NULL, body, NULL);
            sem_wait(&posted);
            _exit(10 + round);
        }
        int status = 0;
        waitpid(-1, &status, 0);
        printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status));
    }
    return 0;
}
