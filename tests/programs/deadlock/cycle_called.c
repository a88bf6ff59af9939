// A cycle of three, each lock taken in a function that was called: by trying, before a condition was waited for, by C11.
//@ flags: -pthread -g
//@ replay: 10 times
//@ ends: 122
#include "dead.h"
#include <threads.h>
static pthread_mutex_t accounts = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static mtx_t cache;
static pthread_barrier_t all;
static void write_down(void) { pthread_mutex_lock(&journal); }
static void transfer(void) {
    if (pthread_mutex_trylock(&accounts) != 0) return;
    pthread_barrier_wait(&all);
    write_down();
}
static void *clerk(void *x) { return transfer(), x; }
static void audit(void) {
    pthread_mutex_lock(&journal);
    pthread_cond_timedwait(&opened, &journal, &(struct timespec){1, 0});
    pthread_barrier_wait(&all);
    mtx_lock(&cache);
}
static void *auditor(void *x) { return audit(), x; }
static void refresh(void) {
    mtx_lock(&cache);
    pthread_barrier_wait(&all);
    pthread_mutex_lock(&accounts);
}
static void *reader(void *x) { return refresh(), x; }
int main(void) {
    mtx_init(&cache, mtx_plain);
    pthread_barrier_init(&all, NULL, 3);
    pthread_t first = start(clerk, 0), second = start(auditor, 0), third = start(reader, 0);
    pthread_join(first, NULL);
    pthread_join(second, NULL);
    pthread_join(third, NULL);
    return 0;
}
