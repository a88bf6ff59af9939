// Two threads take two locks of the program's own, made of atomics and futexes, the other way round; the first one joins them.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/syscall.h>
static _Atomic int one, other;
static sem_t has_one, has_other;
static void take(_Atomic int *word) {
    int is_free = 0;
    if (atomic_compare_exchange_strong(word, &is_free, 1)) return;
    while (atomic_exchange(word, 2) != 0) syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}
static void *first(void *x) {
    take(&one);
    sem_post(&has_one);
    sem_wait(&has_other);
    take(&other);
    return x;
}
static void *second(void *x) {
    take(&other);
    sem_post(&has_other);
    sem_wait(&has_one);
    take(&one);
    return x;
}
int main(void) {
    sem_init(&has_one, 0, 0);
    sem_init(&has_other, 0, 0);
    pthread_t threads[] = {start(first, 0), start(second, 0)};
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}
