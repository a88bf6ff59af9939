// A program made from a seed, whose threads race: plain memory, atomics, locks of their own, with all kinds of calls in between.
//@ flags: -pthread
//
// It has no `replay:` line: tests/stress.rs runs it with many seeds, in turn. No order is in it but the one in which threads run;
// every wait has its waker, so that it ends for every seed.
#include "order.h"
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 16, MOST = 6 };
static volatile unsigned words[WORDS];
static atomic_uint turns;
static atomic_int own_lock, spin_lock;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static sem_t seats;
static int ends[2], threads, left, steps;
static pthread_t all[MOST];
static volatile sig_atomic_t signals[MOST + 1];
static __thread int me = MOST;

typedef struct { unsigned long long random, hash; int id; } Self;
static unsigned pick(Self *self, unsigned below) {
    self->random ^= self->random << 13, self->random ^= self->random >> 7, self->random ^= self->random << 17;
    return (unsigned)(self->random >> 33) % below;
}
static void handle(int number) {
    (void)number;
    signals[me]++;
    words[0] = words[0] * 5 + (unsigned)me;
}
static long futex(int how, int value) { return syscall(SYS_futex, &own_lock, how | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0); }
static void take_own(void) {
    int is = 0;
    if (atomic_compare_exchange_strong(&own_lock, &is, 1)) return;
    while (atomic_exchange(&own_lock, 2) != 0) futex(FUTEX_WAIT, 2);
}
static void give_own(void) {
    if (atomic_exchange(&own_lock, 0) == 2) futex(FUTEX_WAKE, 1);
}
static void call(Self *self, unsigned kind) {
    struct timespec now;
    char byte = (char)self->id;
    switch (kind) {
    case 0: pthread_mutex_lock(&lock), words[1] += words[2], pthread_mutex_unlock(&lock); break;
    case 1: sched_yield(); break;
    case 2: usleep(pick(self, 30)); break;
    case 3: clock_gettime(CLOCK_MONOTONIC, &now), self->hash += (unsigned long long)now.tv_nsec; break;
    case 4: sem_wait(&seats), words[3]++, jitter(), sem_post(&seats); break;
    case 5: take_own(), words[4] = words[4] * 3 + (unsigned)self->id, jitter(), give_own(); break;
    case 6:
        while (atomic_exchange(&spin_lock, 1)) sched_yield();
        words[5]++, jitter();
        atomic_store(&spin_lock, 0);
        break;
    case 7:
        if (write(ends[1], &byte, 1) == 1 && read(ends[0], &byte, 1) == 1) self->hash = self->hash * 7 + (unsigned char)byte;
        break;
    case 8:
        pthread_mutex_lock(&lock);
        clock_gettime(CLOCK_REALTIME, &now);
        now.tv_nsec = (now.tv_nsec + 30000) % 1000000000;
        self->hash += (unsigned)pthread_cond_timedwait(&more, &lock, &now);
        pthread_mutex_unlock(&lock);
        break;
    case 9: pthread_cond_signal(&more); break;
    case 10: self->hash += sem_trywait(&seats) == 0 ? (unsigned)sem_post(&seats) + 1 : (unsigned)errno; break;
    case 11: pthread_kill(all[pick(self, (unsigned)threads)], SIGUSR1); break;
    case 12: self->hash = self->hash * 31 + atomic_fetch_add(&turns, 1); break;
    default: break;
    }
}
static void *body(void *arg) {
    Self *self = arg;
    me = self->id;
    pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock); // all of `all` are there
    for (int step = 0; step < steps; step++) {
        unsigned from = pick(self, WORDS), to = pick(self, WORDS), before = words[from];
        call(self, pick(self, 16));
        if (pick(self, 8) == 0) jitter();
        words[to] = before * 31 + (unsigned)self->id;
        call(self, pick(self, 16));
        self->hash = self->hash * 0x100000001b3ull + words[from] + (unsigned)signals[me];
    }
    pthread_mutex_lock(&lock); // and stay until all have come here
    for (left--; left > 0;) pthread_cond_wait(&more, &lock);
    pthread_cond_broadcast(&more);
    pthread_mutex_unlock(&lock);
    return NULL;
}
int main(int argc, char **argv) {
    Self first = {.random = (unsigned long long)atoi(argv[argc - 1]) * 0x9E3779B97F4A7C15ull + 1}, self[MOST];
    left = threads = 2 + (int)pick(&first, MOST - 1), steps = 20 + (int)pick(&first, 120);
    sem_init(&seats, 0, 1 + pick(&first, 2));
    signal(SIGUSR1, handle);
    if (pipe(ends) != 0) return 1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < threads; i++) {
        self[i] = (Self){.random = first.random + (unsigned)i * 77 + 1, .hash = 1, .id = i};
        pthread_create(&all[i], NULL, body, &self[i]);
    }
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
    for (int i = 0; i < threads; i++) printf("%d %llx %d\n", i, self[i].hash, (int)signals[i]);
    for (int i = 0; i < WORDS; i++) printf("%x ", words[i]);
    puts("");
}
