// A program made from a seed: threads, locks of every kind, conditions, waits, clocks. Its hashes depend on every order.
//@ flags: -pthread
//
// It has no `replay:` line: tests/stress.rs runs it with many seeds. Every shared word is guarded by the object it stands
// in, so there is no race; locks nest in index order only, and every wait without a time limit has its waker, so that
// it ends for every seed.
#include "order.h"
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { MUTEXES = 8, RWLOCKS = 3, SEMS = 3, NODES = 4, ONCES = 32, QUEUE = 3, ROUNDS_MAX = 6 };
typedef struct { unsigned long long random, hash; int id, depth, once; } Self;

static struct { pthread_mutex_t lock; unsigned long long hash; } mutexes[MUTEXES];
static struct { pthread_rwlock_t lock; unsigned long long hash; } rwlocks[RWLOCKS];
static struct { pthread_spinlock_t lock; unsigned long long hash; } spin;
static struct { sem_t lock, tokens; unsigned long long hash; } sems[SEMS];
static struct { pthread_mutex_t lock; pthread_cond_t more, less; int length; unsigned long long hash; } queue;
static struct { pthread_mutex_t lock; pthread_cond_t turn; int round, arrived; unsigned long long hash; } meeting;
static struct node { pthread_mutex_t lock; int users; unsigned long long hash; } *nodes[NODES];
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long table_hash;
static pthread_barrier_t barrier;
static pthread_once_t onces[ONCES];
static int ran_by[ONCES], threads, rounds, steps;
static __thread Self *me;

static unsigned pick(Self *self, unsigned below) {
    self->random ^= self->random << 13, self->random ^= self->random >> 7, self->random ^= self->random << 17;
    return (unsigned)(self->random >> 33) % below;
}
static void mix(unsigned long long *hash, unsigned long long value) { *hash = (*hash ^ value) * 0x100000001b3ull + 1; }
// Under an object's lock: it learns who came, the thread learns who was there before.
static void meet(Self *self, unsigned long long *hash) {
    mix(hash, (unsigned long long)self->id);
    mix(&self->hash, *hash);
    if (pick(self, 6) == 0) jitter();
}
static struct timespec soon(clockid_t clock, long ns) {
    struct timespec at;
    clock_gettime(clock, &at);
    at.tv_nsec += ns;
    if (at.tv_nsec >= 1000000000) at.tv_sec++, at.tv_nsec -= 1000000000;
    return at;
}
static void routine(void) { ran_by[me->once] = me->id; }
static void *thread(void *arg);

static void one_mutex(Self *self, unsigned at) {
    struct timespec until;
    int error;
    switch (pick(self, 6)) {
    case 0: error = pthread_mutex_trylock(&mutexes[at].lock); break;
    case 1: until = soon(CLOCK_REALTIME, 20000), error = pthread_mutex_timedlock(&mutexes[at].lock, &until); break;
    case 2: until = soon(CLOCK_MONOTONIC, 20000), error = pthread_mutex_clocklock(&mutexes[at].lock, CLOCK_MONOTONIC, &until); break;
    default: error = pthread_mutex_lock(&mutexes[at].lock);
    }
    mix(&self->hash, (unsigned long long)error);
    if (error) return;
    meet(self, &mutexes[at].hash);
    if (at == 1 && pthread_mutex_lock(&mutexes[1].lock) == 0) pthread_mutex_unlock(&mutexes[1].lock); // recursive
    if (at == 2) mix(&self->hash, (unsigned long long)pthread_mutex_lock(&mutexes[2].lock));          // EDEADLK
    if (at + 1 < MUTEXES && pick(self, 3) == 0) one_mutex(self, at + 1 + pick(self, MUTEXES - at - 1));
    pthread_mutex_unlock(&mutexes[at].lock);
}
static void one_rwlock(Self *self) {
    unsigned at = pick(self, RWLOCKS), kind = pick(self, 8);
    pthread_rwlock_t *lock = &rwlocks[at].lock;
    struct timespec until = soon(kind < 6 ? CLOCK_REALTIME : CLOCK_MONOTONIC, 20000);
    int error = kind == 0   ? pthread_rwlock_wrlock(lock)
                : kind == 1 ? pthread_rwlock_trywrlock(lock)
                : kind == 2 ? pthread_rwlock_timedwrlock(lock, &until)
                : kind == 3 ? pthread_rwlock_tryrdlock(lock)
                : kind == 4 ? pthread_rwlock_timedrdlock(lock, &until)
                : kind == 6 ? pthread_rwlock_clockrdlock(lock, CLOCK_MONOTONIC, &until)
                            : pthread_rwlock_rdlock(lock);
    mix(&self->hash, (unsigned long long)error);
    if (error) return;
    if (kind <= 2) meet(self, &rwlocks[at].hash);
    else mix(&self->hash, rwlocks[at].hash);
    if (pick(self, 4) == 0) jitter();
    pthread_rwlock_unlock(lock);
}
static void one_sem(Self *self) {
    unsigned at = pick(self, SEMS);
    struct timespec until = soon(CLOCK_REALTIME, 20000);
    int got, value, kind = (int)pick(self, 5);
    switch (kind) {
    case 0: // a lock
        sem_wait(&sems[at].lock);
        meet(self, &sems[at].hash);
        sem_post(&sems[at].lock);
        break;
    case 1: // a token: whoever takes one in passing gives it back
        sem_post(&sems[at].tokens);
        jitter();
        sem_wait(&sems[at].tokens);
        break;
    case 2:
        sem_getvalue(&sems[at].tokens, &value);
        mix(&self->hash, (unsigned long long)value);
        break;
    default:
        got = (kind == 3 ? sem_trywait(&sems[at].tokens) : sem_timedwait(&sems[at].tokens, &until)) == 0;
        mix(&self->hash, got ? 0ull : (unsigned long long)errno);
        if (got) sem_post(&sems[at].tokens);
    }
}
static void one_queue(Self *self) {
    int put = (int)pick(self, 2), error = 0;
    struct timespec until = soon(CLOCK_REALTIME, 50000);
    pthread_mutex_lock(&queue.lock);
    while (queue.length == (put ? QUEUE : 0) && error == 0)
        error = pthread_cond_timedwait(put ? &queue.less : &queue.more, &queue.lock, &until);
    mix(&self->hash, (unsigned long long)error);
    if (queue.length != (put ? QUEUE : 0)) queue.length += put ? 1 : -1;
    mix(&queue.hash, (unsigned long long)queue.length);
    meet(self, &queue.hash);
    if (self->id % 2) pthread_cond_signal(put ? &queue.more : &queue.less);
    pthread_mutex_unlock(&queue.lock);
    if (self->id % 2 == 0) pthread_cond_broadcast(put ? &queue.more : &queue.less);
}
static struct node *fresh(void) {
    struct node *node = calloc(1, sizeof *node);
    pthread_mutex_init(&node->lock, NULL);
    node->users = 1;
    return node;
}
static void release(struct node *node) { // with the table locked
    if (--node->users > 0) return;
    mix(&table_hash, node->hash);
    pthread_mutex_destroy(&node->lock);
    free(node);
}
static void one_node(Self *self) {
    unsigned at = pick(self, NODES), renew = pick(self, 4) == 0;
    pthread_mutex_lock(&table);
    if (renew) release(nodes[at]), nodes[at] = fresh();
    struct node *node = nodes[at];
    node->users++;
    pthread_mutex_unlock(&table);
    pthread_mutex_lock(&node->lock);
    meet(self, &node->hash);
    pthread_mutex_unlock(&node->lock);
    pthread_mutex_lock(&table);
    release(node);
    pthread_mutex_unlock(&table);
}
static void one_thread(Self *self) {
    if (self->depth > 1) return;
    Self child = {.random = self->random * 7 + 1, .id = self->id * 3 + 10, .depth = self->depth + 1};
    pthread_t handle;
    pthread_create(&handle, NULL, thread, &child);
    int waits = 0;
    if (pick(self, 3) == 0)
        while (pthread_tryjoin_np(handle, NULL) != 0) waits++, usleep(10);
    else
        pthread_join(handle, NULL);
    mix(&self->hash, child.hash + (unsigned long long)waits);
}
static void one_step(Self *self) {
    unsigned char byte = 0;
    switch (pick(self, 16)) {
    case 0: case 1: case 2: case 3: one_mutex(self, pick(self, MUTEXES)); break;
    case 4: case 5: one_rwlock(self); break;
    case 6: case 7: one_sem(self); break;
    case 8: case 9: one_queue(self); break;
    case 10: case 11: one_node(self); break;
    case 12:
        if (pick(self, 2) == 0 || pthread_spin_trylock(&spin.lock) != 0) mix(&self->hash, 3), pthread_spin_lock(&spin.lock);
        meet(self, &spin.hash);
        pthread_spin_unlock(&spin.lock);
        break;
    case 13:
        self->once = (int)pick(self, ONCES);
        pthread_once(&onces[self->once], routine);
        mix(&self->hash, (unsigned long long)ran_by[self->once]);
        break;
    case 14:
        mix(&self->hash, (unsigned long long)soon(CLOCK_MONOTONIC, 0).tv_nsec);
        if (getrandom(&byte, 1, 0) == 1) mix(&self->hash, byte);
        for (unsigned n = byte % 3; n > 0; n--) one_mutex(self, byte % MUTEXES); // what it does depends on chance
        break;
    case 15:
        if (pick(self, 3) == 0) one_thread(self);
        else usleep(pick(self, 20));
    }
}
static void end_round(Self *self, int round) {
    if (round % 3 == 0) mix(&self->hash, pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
    if (round % 3 != 1) return;
    pthread_mutex_lock(&meeting.lock);
    meet(self, &meeting.hash);
    if (++meeting.arrived == threads) {
        meeting.arrived = 0, meeting.round++;
        pthread_cond_broadcast(&meeting.turn);
    } else
        for (int mine = meeting.round; mine == meeting.round;) pthread_cond_wait(&meeting.turn, &meeting.lock);
    meet(self, &meeting.hash);
    pthread_mutex_unlock(&meeting.lock);
}
static void *thread(void *arg) {
    Self *self = me = arg;
    for (int round = 0; round < (self->depth ? 1 : rounds); round++) {
        for (int step = 0; step < steps / (1 + 3 * self->depth); step++) one_step(self);
        if (self->depth == 0) end_round(self, round);
    }
    return NULL;
}
static void make_all(void) {
    static const int kinds[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    for (int i = 0; i < MUTEXES; i++) {
        pthread_mutexattr_t attr;
        pthread_mutexattr_init(&attr);
        if (i < 4) pthread_mutexattr_settype(&attr, kinds[i]);
        if (i == 4) pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
        if (i == 5) pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
        if (i == 6) pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(&mutexes[i].lock, &attr);
    }
    for (int i = 0; i < RWLOCKS; i++) pthread_rwlock_init(&rwlocks[i].lock, NULL);
    for (int i = 0; i < SEMS; i++) sem_init(&sems[i].lock, 0, 1), sem_init(&sems[i].tokens, 0, (unsigned)i);
    for (int i = 0; i < NODES; i++) nodes[i] = fresh();
    for (int i = 0; i < ONCES; i++) onces[i] = (pthread_once_t)PTHREAD_ONCE_INIT;
    pthread_spin_init(&spin.lock, PTHREAD_PROCESS_PRIVATE);
    pthread_mutex_init(&queue.lock, NULL), pthread_cond_init(&queue.more, NULL), pthread_cond_init(&queue.less, NULL);
    pthread_mutex_init(&meeting.lock, NULL), pthread_cond_init(&meeting.turn, NULL);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
}
int main(int argc, char **argv) {
    Self chance = {.random = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 0x9E3779B97F4A7C15ull + 88172645463325252ull};
    Self selves[8];
    pthread_t handles[8];
    unsigned long long total = 0;
    for (int i = 0; i < 5; i++) pick(&chance, 2);
    threads = 2 + (int)pick(&chance, 7), rounds = 1 + (int)pick(&chance, ROUNDS_MAX), steps = 10 + (int)pick(&chance, 60);
    make_all();
    for (int i = 0; i < threads; i++) {
        selves[i] = (Self){.random = chance.random * (unsigned)(2 * i + 3) + 7, .id = i + 1};
        pthread_create(&handles[i], NULL, thread, &selves[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
        printf("thread %d %016llx\n", i + 1, selves[i].hash);
    }
    for (int i = 0; i < MUTEXES; i++) printf("%016llx ", mutexes[i].hash);
    for (int i = 0; i < RWLOCKS; i++) mix(&total, rwlocks[i].hash);
    for (int i = 0; i < SEMS; i++) mix(&total, sems[i].hash);
    for (int i = 0; i < NODES; i++) mix(&total, nodes[i]->hash);
    for (int i = 0; i < ONCES; i++) mix(&total, (unsigned long long)ran_by[i]);
    mix(&total, spin.hash), mix(&total, queue.hash), mix(&total, meeting.hash), mix(&total, table_hash);
    printf("\n%d threads, %d rounds of %d steps: %016llx\n", threads, rounds, steps, total);
    return 0;
}
