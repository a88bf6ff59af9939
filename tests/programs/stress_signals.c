// A program made from a seed, like stress.c: threads that send each other signals, wait for them in every way, and leave
// waits by jumps. Its hashes depend on every order of handlers among themselves, and on what they give the threads.
//@ flags: -pthread
//
// It has no `replay:` line: tests/stress.rs runs it with many seeds. A handler runs between two events, anywhere: so it
// touches what handlers alone touch, under their own lock, and semaphores. A thread that waits for SIGUSR1 has asked the
// one who sends it before, so that it ends for every seed; SIGUSR2 and SIGRTMIN come at any time.
#include "order.h"
#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 6, ASKS = 64, MUTEXES = 3 };
typedef struct {
    unsigned long long random, hash;
    int id;
    pthread_t handle;
    int pipe[2];
    volatile sig_atomic_t answers, leaves;
    sigjmp_buf back;
} Self;

static Self selves[THREADS];
static struct { pthread_mutex_t lock; unsigned long long hash; } mutexes[MUTEXES], handled, queue;
static int asks[ASKS], asked, threads, steps;
static sem_t questions, tokens, never;
static pthread_barrier_t barrier;
static sigset_t answer_only;
static __thread Self *me;

static unsigned pick(Self *self, unsigned below) {
    self->random ^= self->random << 13, self->random ^= self->random >> 7, self->random ^= self->random << 17;
    return (unsigned)(self->random >> 33) % below;
}
static void mix(unsigned long long *hash, unsigned long long value) { *hash = (*hash ^ value) * 0x100000001b3ull + 1; }
static void answered(int number) {
    me->answers++;
    if (me->leaves) me->leaves = 0, siglongjmp(me->back, number);
}
static void told(int number, siginfo_t *info, void *unused) {
    (void)unused;
    int before = errno;
    pthread_mutex_lock(&handled.lock);
    mix(&handled.hash, (unsigned long long)(me->id * 100 + number) + (number == SIGRTMIN ? (unsigned long long)info->si_value.sival_int << 16 : 0));
    pthread_mutex_unlock(&handled.lock);
    if (number == SIGUSR2) sem_post(&tokens);
    errno = before;
}
static void ask(Self *self) { // whole, even if the answer to it comes at once and ends the wait by a jump
    sigset_t before;
    pthread_sigmask(SIG_BLOCK, &answer_only, &before);
    pthread_mutex_lock(&queue.lock);
    asks[asked++ % ASKS] = self->id;
    mix(&queue.hash, (unsigned long long)self->id);
    mix(&self->hash, queue.hash);
    pthread_mutex_unlock(&queue.lock);
    sem_post(&questions);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
static void *answer(void *unused) { // its own signals are blocked: nobody sends it any
    for (int next = 0;; next++) {
        while (sem_wait(&questions) != 0) {}
        pthread_mutex_lock(&queue.lock);
        int who = asks[next % ASKS];
        pthread_mutex_unlock(&queue.lock);
        if (who < 0) return unused;
        jitter();
        pthread_kill(selves[who].handle, SIGUSR1);
    }
}
static void wait_for_answer(Self *self) {
    struct timespec long_time = {100, 0};
    int wanted = self->answers + 1, error;
    sigset_t before;
    siginfo_t info;
    unsigned kind = pick(self, 8);
    char byte;
    switch (kind) {
    case 0: // looks, without an event
        ask(self);
        while (self->answers < wanted) __asm__ volatile("");
        break;
    case 5: // looks, with events, and counts how often
        ask(self);
        for (unsigned long long rounds = 0; self->answers < wanted; mix(&self->hash, rounds++)) {
            pthread_mutex_lock(&mutexes[0].lock);
            pthread_mutex_unlock(&mutexes[0].lock);
        }
        break;
    case 1: case 2: case 6: // leaves the wait
        if (sigsetjmp(self->back, 1) == 0) {
            self->leaves = 1;
            ask(self);
            for (;;) kind == 1 ? sem_wait(&never) : kind == 2 ? nanosleep(&long_time, NULL) : (int)read(self->pipe[0], &byte, 1);
        }
        break;
    case 7: // lets it in, where others come, too, and counts how often
        pthread_sigmask(SIG_BLOCK, &answer_only, &before);
        ask(self);
        while (self->answers < wanted) mix(&self->hash, (unsigned long long)(ppoll(NULL, 0, NULL, &before) + errno));
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        break;
    case 3: // lets it in
        pthread_sigmask(SIG_BLOCK, &answer_only, &before);
        ask(self);
        while (self->answers < wanted) sigsuspend(&before);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        break;
    case 4: // takes it
        pthread_sigmask(SIG_BLOCK, &answer_only, &before);
        ask(self);
        while ((error = sigwaitinfo(&answer_only, &info)) < 0) mix(&self->hash, (unsigned long long)errno);
        mix(&self->hash, (unsigned long long)error);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        break;
    }
}
static void one_step(Self *self) {
    struct timespec until;
    Self *other = &selves[pick(self, (unsigned)threads)];
    unsigned at = pick(self, MUTEXES);
    int got;
    char byte;
    switch (pick(self, 9)) {
    case 0: case 1: wait_for_answer(self); break;
    case 2: pthread_kill(other->handle, SIGUSR2); break;
    case 3: mix(&self->hash, (unsigned long long)pthread_sigqueue(other->handle, SIGRTMIN, (union sigval){.sival_int = (int)pick(self, 1000)})); break;
    case 4:
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 20000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        got = (pick(self, 2) ? sem_trywait(&tokens) : sem_timedwait(&tokens, &until)) == 0;
        mix(&self->hash, got ? 0ull : (unsigned long long)errno);
        break;
    case 5: usleep(pick(self, 30)); break;
    case 8: // what there is to read is read, whatever comes
        if (write(self->pipe[1], "x", 1) != 1) abort();
        while (read(self->pipe[0], &byte, 1) != 1) mix(&self->hash, (unsigned long long)errno);
        break;
    default:
        pthread_mutex_lock(&mutexes[at].lock);
        mix(&mutexes[at].hash, (unsigned long long)self->id);
        mix(&self->hash, mutexes[at].hash);
        if (pick(self, 4) == 0) jitter();
        pthread_mutex_unlock(&mutexes[at].lock);
    }
}
static void *thread(void *arg) {
    Self *self = me = arg;
    pthread_barrier_wait(&barrier);
    for (int step = 0; step < steps; step++) one_step(self);
    pthread_barrier_wait(&barrier);
    return NULL;
}
int main(int argc, char **argv) {
    Self chance = {.random = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 0x9E3779B97F4A7C15ull + 88172645463325252ull};
    pthread_t answerer;
    sigset_t all, none;
    for (int i = 0; i < 5; i++) pick(&chance, 2);
    threads = 2 + (int)pick(&chance, THREADS - 1), steps = 10 + (int)pick(&chance, 40);
    for (int i = 0; i < MUTEXES; i++) pthread_mutex_init(&mutexes[i].lock, NULL);
    pthread_mutex_init(&handled.lock, NULL), pthread_mutex_init(&queue.lock, NULL);
    sem_init(&questions, 0, 0), sem_init(&tokens, 0, 0), sem_init(&never, 0, 0);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    sigfillset(&all), sigemptyset(&answer_only), sigaddset(&answer_only, SIGUSR1);
    struct sigaction one = {.sa_mask = all}, other = {.sa_mask = all};
    one.sa_handler = answered, one.sa_flags = pick(&chance, 2) ? SA_RESTART : 0;
    other.sa_sigaction = told, other.sa_flags = SA_SIGINFO | (pick(&chance, 2) ? SA_RESTART : 0);
    sigaction(SIGUSR1, &one, NULL), sigaction(SIGUSR2, &other, NULL), sigaction(SIGRTMIN, &other, NULL);
    pthread_sigmask(SIG_BLOCK, &all, &none);
    pthread_create(&answerer, NULL, answer, NULL);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
    for (int i = 0; i < threads; i++) {
        selves[i].random = chance.random * (unsigned)(2 * i + 3) + 7, selves[i].id = i;
        if (pipe(selves[i].pipe) != 0) return 1;
        pthread_create(&selves[i].handle, NULL, thread, &selves[i]);
    }
    pthread_barrier_wait(&barrier); // all handles are known
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < threads; i++) {
        pthread_join(selves[i].handle, NULL);
        printf("thread %d %016llx\n", i + 1, selves[i].hash);
    }
    Self nobody = {.id = -1};
    ask(&nobody);
    pthread_join(answerer, NULL);
    for (int i = 0; i < MUTEXES; i++) printf("%016llx ", mutexes[i].hash);
    printf("\n%d threads, %d steps: handled %016llx, asked %016llx\n", threads, steps, handled.hash, queue.hash);
    return 0;
}
