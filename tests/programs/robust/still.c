// A thread takes a spinlock behind main. With an argument main stands still before it takes the lock, in a call that nobody
// sees: a replay of the other way waits for it in vain.
//@ flags: -pthread
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_spinlock_t lock;
static volatile int turn;

static void *second(void *unused) {
    while (!turn) usleep(1000);
    pthread_spin_lock(&lock);
    pthread_spin_unlock(&lock);
    return unused;
}

int main(int argc, char **argv) {
    (void)argv;
    pthread_t thread;
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&thread, 0, second, 0);
    if (argc > 1) {
        turn = 1;
        for (;;) syscall(SYS_ppoll, 0, 0, 0, 0);
    }
    pthread_spin_lock(&lock);
    pthread_spin_unlock(&lock);
    turn = 1;
    pthread_join(thread, 0);
    puts("both");
}
