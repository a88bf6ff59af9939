// Signals come in bursts into a read that gets its byte only when all of them are handled; the handlers of each replay run there.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: read pthread_sigqueue sem_wait sem_post
#include "order.h"
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

enum { ROUNDS = 300, BURST = 10 };
static sem_t goes, handled;
static int ends[2];
static unsigned sum;

static void came(int number, siginfo_t *info, void *unused) {
    (void)number, (void)unused;
    __atomic_fetch_add(&sum, 1u << info->si_value.sival_int, __ATOMIC_RELAXED); // others come into it
    sem_post(&handled);
}
static void *reader(void *unused) {
    char byte;
    for (int round = 0; round < ROUNDS; round++) {
        sem_post(&goes);
        if (read(ends[0], &byte, 1) != 1) return "a read was ended";
    }
    return unused;
}
int main(void) {
    struct sigaction action = {.sa_sigaction = came, .sa_flags = SA_SIGINFO | SA_RESTART};
    pthread_t thread;
    void *wrong;
    if (pipe(ends) != 0) return 1;
    sem_init(&goes, 0, 0), sem_init(&handled, 0, 0);
    for (int i = 0; i < 5; i++) sigaction(SIGRTMIN + i, &action, NULL);
    pthread_create(&thread, NULL, reader, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        char byte = (char)round;
        while (sem_wait(&goes) != 0) {}
        for (int i = 0; i < BURST; i++) { // so close that one comes while another is let in
            pthread_sigqueue(thread, SIGRTMIN + i % 5, (union sigval){.sival_int = i});
            for (unsigned spin = (unsigned)(__builtin_ia32_rdtsc() * 0x9E3779B97F4A7C15ull >> 53); spin > 0; spin--) __asm__ volatile("");
        }
        for (int i = 0; i < BURST; i++) sem_wait(&handled);
        if (write(ends[1], &byte, 1) != 1) return 1;
    }
    pthread_join(thread, &wrong);
    printf("%s, %08x\n", wrong ? (char *)wrong : "all read", sum);
    return 0;
}
