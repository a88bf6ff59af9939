// A thread that outlives its data: it tells that it is done, and touches its job once more.
// Decides: the job is taken back between the worker's post and its second lock.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,1,1,1,1,0,0,0,1
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
static sem_t done;
static struct {
    int is_there, runs;
} job = {1, 0};

static void touch(void) {
    LOCK(lock);
    assert(job.is_there);
    job.runs++;
    UNLOCK(lock);
}

static void *worker(void *unused) {
    touch();
#ifdef REPAIRED
    touch();
    sem_post(&done);
#else
    sem_post(&done);
    touch();
#endif
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&done, 0, 0);
    START(thread, worker);
    sem_wait(&done);
    LATER();
    LOCK(lock);
    job.is_there = 0;
    UNLOCK(lock);
    JOIN(thread);
    return 0;
}
