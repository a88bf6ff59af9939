// A barrier shared by processes; which of them was the serial one must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_barrier_init pthread_barrier_wait fork wait
#include "order.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static struct shared { pthread_barrier_t barrier; int len, log[64]; } *shared;
static void work(int id) {
    for (int i = 0; i < 20; i++) {
        jitter();
        if (pthread_barrier_wait(&shared->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) shared->log[shared->len++] = id;
        pthread_barrier_wait(&shared->barrier);
    }
}
int main(void) {
    pthread_barrierattr_t attr;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_barrierattr_init(&attr);
    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attr, 3);
    for (int id = 1; id < 3; id++)
        if (fork() == 0) {
            work(id);
            _exit(0);
        }
    work(0);
    for (int i = 0; i < 2; i++) wait(NULL);
    for (int i = 0; i < shared->len; i++) note(shared->log[i]);
    print_order();
    return 0;
}
