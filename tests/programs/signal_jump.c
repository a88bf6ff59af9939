// Handlers leave waits by siglongjmp; what is sent later, to a thread that only looks at a flag, must come there again.
//@ flags: -pthread -D_FORTIFY_SOURCE=2
//@ replay: 20 times, same stdout
//@ covers: siglongjmp longjmp _longjmp __longjmp_chk sem_wait nanosleep pause pthread_kill
#include "order.h"
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static sem_t never, waits, looks;
static sigjmp_buf back;
static volatile sig_atomic_t flag, jumps;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t first;
static void leave(int number) {
    jumps += number == SIGUSR1;
    siglongjmp(back, 1);
}
static void look(int number) { flag = number; }
static void *send(void *unused) {
    for (int i = 0; i < 12; i++) {
        sem_wait(&waits);
        for (int j = 0; j < 20; j++) jitter();
        pthread_kill(first, SIGUSR1);
        sem_wait(&looks);
        pthread_mutex_lock(&lock);
        note(1);
        pthread_mutex_unlock(&lock);
        pthread_kill(first, SIGUSR2);
    }
    return unused;
}
static void wait_in(int kind) {
    struct timespec long_time = {100, 0};
    if (kind == 0) sem_wait(&never);
    if (kind == 1) nanosleep(&long_time, NULL);
    if (kind == 2) pause();
}
int main(void) {
    pthread_t sender;
    jmp_buf here;
    first = pthread_self();
    sem_init(&never, 0, 0), sem_init(&waits, 0, 0), sem_init(&looks, 0, 0);
    signal(SIGUSR1, leave), signal(SIGUSR2, look);
    if (setjmp(here) == 0) longjmp(here, 1);
    pthread_create(&sender, NULL, send, NULL);
    for (volatile int i = 0; i < 12; i++) {
        if (sigsetjmp(back, 1) == 0) {
            sem_post(&waits);
            wait_in(i % 3);
        }
        flag = 0;
        sem_post(&looks);
        while (flag == 0) __asm__ volatile(""); // no event here
        pthread_mutex_lock(&lock);
        note(2);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(sender, NULL);
    printf("%d jumps ", (int)jumps);
    print_order();
    return 0;
}
