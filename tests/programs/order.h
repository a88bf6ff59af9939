// What the fixtures share: a log that is written under the primitive tested, printed by main at the end, and jitter.
//
// The jitter reads the time stamp counter and yields by a bare instruction, so Retake sees neither: a replay meets
// another timing than the recording did, and must give the recorded order all the same.
#ifndef ORDER_H
#define ORDER_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>

enum { ORDER_MAX = 8192, THREADS_MAX = 64 };
static int order_log[ORDER_MAX];
static int order_len;

// Only the holder of the primitive tested may call it.
static inline void note(int id) {
    if (order_len < ORDER_MAX) order_log[order_len] = id;
    order_len++;
}

static inline unsigned order_hash(void) {
    unsigned hash = 2166136261u;
    for (int i = 0; i < order_len && i < ORDER_MAX; i++) hash = (hash ^ (unsigned)order_log[i]) * 16777619u;
    return hash;
}

static inline void print_order(void) {
    printf("%08x %d ", order_hash(), order_len);
    for (int i = 0; i < order_len && i < ORDER_MAX; i++)
        putchar("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-+"[order_log[i] & 63]);
    putchar('\n');
}

static inline long bare_call(long number, long first, long second) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(first), "S"(second) : "rcx", "r11", "memory");
    return result;
}

// Up to some ten microseconds, now and then a yield, seldom a short sleep.
static inline void jitter(void) {
    unsigned long long x = __builtin_ia32_rdtsc() * 0x9E3779B97F4A7C15ull;
    for (unsigned spin = (unsigned)(x >> 50); spin > 0; spin--) __asm__ volatile("");
    if ((x >> 46 & 3) == 0) bare_call(24, 0, 0);
    if ((x >> 40 & 31) == 0) {
        long ten_us[2] = {0, 10000};
        bare_call(35, (long)ten_us, 0);
    }
}

// Starts `count` threads numbered from 1 and waits for them all.
static inline void run_threads(int count, void *(*body)(void *)) {
    pthread_t threads[THREADS_MAX];
    for (long i = 0; i < count; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}
#endif
