// Micro benchmarks of the operations that Retake records: `locks NAME [OPERATIONS [THREADS [OBJECTS]]]`.
//
// Standard output: `NAME order-hash`. Standard error: `NAME nanoseconds-per-operation`. The time is taken by the bare
// system call, by hand, so that neither record nor replay stands between the program and the clock: a replayed clock
// would show the recorded time. The hash depends on the order in which the threads got the locks; a replay must print
// the same.
//
//   private   each thread its own mutex (1 thread unless told)          an operation = lock + unlock
//   shared    two threads, one mutex, a short section                   an operation = lock + unlock
//   random    two threads, 1,024 mutexes, chosen at random              an operation = lock + unlock
//   queue     two producers, two consumers, a bounded buffer of 64      an operation = one item through the queue
//   create    one thread after another                                  an operation = create + join

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

enum { THREADS_MAX = 10000, BUFFER = 64 };

typedef struct {
    pthread_mutex_t mutex;
    uint64_t value;
} __attribute__((aligned(64))) Guarded;

static uint64_t operations, objects = 1024;
static int threads;
static Guarded *guarded;

static uint64_t now_ns(void) {
    struct timespec time;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_clock_gettime), "D"((long)CLOCK_MONOTONIC), "S"(&time)
                     : "rcx", "r11", "memory");
    return result == 0 ? (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec : 0;
}

static void mix(uint64_t *hash, uint64_t value) { *hash = (*hash ^ value) * UINT64_C(0x100000001b3); }

static void *private_mutex(void *argument) {
    Guarded *mine = &guarded[(intptr_t)argument];
    for (uint64_t i = 0; i < operations; i++) {
        pthread_mutex_lock(&mine->mutex);
        mine->value++;
        pthread_mutex_unlock(&mine->mutex);
    }
    return NULL;
}

static void *shared_mutex(void *argument) {
    for (uint64_t i = 0; i < operations; i++) {
        pthread_mutex_lock(&guarded[0].mutex);
        mix(&guarded[0].value, (uint64_t)(intptr_t)argument + 1);
        pthread_mutex_unlock(&guarded[0].mutex);
    }
    return NULL;
}

static void *random_mutex(void *argument) {
    uint64_t random = 88172645463325252u * ((uint64_t)(intptr_t)argument * 2 + 1);
    for (uint64_t i = 0; i < operations; i++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        Guarded *one = &guarded[(random >> 20) % objects];
        pthread_mutex_lock(&one->mutex);
        mix(&one->value, (uint64_t)(intptr_t)argument + 1);
        pthread_mutex_unlock(&one->mutex);
    }
    return NULL;
}

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_full, not_empty;
    uint64_t items[BUFFER], put, taken, order;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER,
           .not_full = PTHREAD_COND_INITIALIZER,
           .not_empty = PTHREAD_COND_INITIALIZER};

// Even threads produce, odd ones consume; as many of the one as of the other.
static void *produce_or_consume(void *argument) {
    uint64_t me = (uint64_t)(intptr_t)argument;
    for (uint64_t i = 0; i < operations; i++) {
        pthread_mutex_lock(&queue.mutex);
        if (me % 2 == 0) {
            while (queue.put - queue.taken == BUFFER)
                pthread_cond_wait(&queue.not_full, &queue.mutex);
            queue.items[queue.put++ % BUFFER] = me + 1;
            pthread_cond_signal(&queue.not_empty);
        } else {
            while (queue.put == queue.taken)
                pthread_cond_wait(&queue.not_empty, &queue.mutex);
            mix(&queue.order, queue.items[queue.taken++ % BUFFER] * 64 + me);
            pthread_cond_signal(&queue.not_full);
        }
        pthread_mutex_unlock(&queue.mutex);
    }
    return NULL;
}

static void *nothing(void *argument) { return argument; }

static const struct {
    const char *name;
    void *(*run)(void *);
    uint64_t operations; // of each thread
    int threads;
    double share; // a producer and a consumer make one operation together
} benches[] = {
    {"private", private_mutex, 20000000, 1, 1.0}, {"shared", shared_mutex, 5000000, 2, 1.0},
    {"random", random_mutex, 10000000, 2, 1.0},   {"queue", produce_or_consume, 500000, 4, 0.5},
    {"create", nothing, 5000, 1, 1.0},
};

static void must(int result) {
    if (result != 0) {
        fprintf(stderr, "locks: %s\n", strerror(result));
        exit(1);
    }
}

static void run_together(void *(*run)(void *)) {
    pthread_t *ids = calloc((size_t)threads, sizeof(pthread_t));
    for (int i = 0; i < threads; i++)
        must(pthread_create(&ids[i], NULL, run, (void *)(intptr_t)i));
    for (int i = 0; i < threads; i++)
        must(pthread_join(ids[i], NULL));
    free(ids);
}

static void run_one_by_one(void *(*run)(void *)) {
    for (uint64_t i = 0; i < operations; i++) {
        pthread_t id;
        must(pthread_create(&id, NULL, run, NULL));
        must(pthread_join(id, NULL));
    }
}

int main(int argc, char **argv) {
    size_t which = 0, count = sizeof(benches) / sizeof(benches[0]);
    while (argc > 1 && which < count && strcmp(argv[1], benches[which].name) != 0)
        which++;
    if (argc < 2 || which == count) {
        fprintf(stderr, "usage: locks private|shared|random|queue|create [OPERATIONS [THREADS [OBJECTS]]]\n");
        return 2;
    }
    operations = argc > 2 ? strtoull(argv[2], NULL, 10) : benches[which].operations;
    threads = argc > 3 ? atoi(argv[3]) : benches[which].threads;
    objects = argc > 4 ? strtoull(argv[4], NULL, 10) : objects;
    if (threads < 1 || threads > THREADS_MAX || operations < 1 || objects < 1) {
        fprintf(stderr, "locks: a number out of range\n");
        return 2;
    }
    if (objects < (uint64_t)threads)
        objects = (uint64_t)threads;
    guarded = aligned_alloc(64, objects * sizeof(Guarded));
    if (!guarded)
        return 1;
    for (uint64_t i = 0; i < objects; i++) {
        must(pthread_mutex_init(&guarded[i].mutex, NULL));
        guarded[i].value = 0;
    }

    int one_by_one = benches[which].run == nothing;
    uint64_t start = now_ns();
    one_by_one ? run_one_by_one(nothing) : run_together(benches[which].run);
    uint64_t end = now_ns();

    uint64_t order = queue.order;
    for (uint64_t i = 0; i < objects; i++)
        mix(&order, guarded[i].value);
    double done = (double)operations * (one_by_one ? 1 : threads) * benches[which].share;
    fprintf(stderr, "%s %.2f\n", benches[which].name, (double)(end - start) / done);
    printf("%s %016llx\n", benches[which].name, (unsigned long long)order);
    return 0;
}
