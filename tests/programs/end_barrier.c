// Whoever passes the barrier first ends its process, before the others can note that they passed: each process must end so.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_barrier_wait fork waitpid _exit
#include "order.h"
#include <sys/wait.h>
#include <unistd.h>
static pthread_barrier_t barrier;
static void *body(void *id) {
    pthread_barrier_wait(&barrier);
    _exit(10 + (int)(long)id);
    return NULL;
}
int main(void) {
    for (int round = 0; round < 8; round++) {
        if (fork() == 0) {
            pthread_barrier_init(&barrier, NULL, 3);
            pthread_t threads[3];
            for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)i);
            for (;;) pause();
        }
        int status = 0;
        waitpid(-1, &status, 0);
        printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status) / 10);
    }
    return 0;
}
