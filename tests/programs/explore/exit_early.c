// Exit while others run: what runs at the exit finds the work of another thread half done.
// Decides: the lock of `at_exit` comes between the worker's two sections.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,1,1,1,1,0,0
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
static sem_t started;
static int is_half_done;

static void at_exit(void) {
    LOCK(lock);
    assert(!is_half_done);
    UNLOCK(lock);
}

static void *worker(void *unused) {
    sem_post(&started);
    LOCK(lock);
    is_half_done = 1;
    UNLOCK(lock);
    LOCK(lock);
    is_half_done = 0;
    UNLOCK(lock);
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&started, 0, 0);
    atexit(at_exit);
    START(thread, worker);
    sem_wait(&started);
    LATER();
#ifdef REPAIRED
    JOIN(thread);
#endif
    return 0;
}
