// A semaphore used as a mutex, posted once too often: from then on two may be inside.
// Decides: the third user's wait comes before the second one's last post.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,1,1,1,1,1,1,1,1,0,0,0,0,2,2,2,2,3,3,3
//@ replay: 3 times
#include "explore.h"

static sem_t door;
MUTEX(lock);
static int inside;

static void *user(void *number) {
    for (long naps = 0; naps < (long)number; naps++) LATER();
    sem_wait(&door);
    LOCK(lock);
    assert(++inside == 1);
    UNLOCK(lock);
    LOCK(lock);
    inside--;
    UNLOCK(lock);
    sem_post(&door);
    return NULL;
}

int main(void) {
    pthread_t a, b, c;
    sem_init(&door, 0, 1);
    pthread_create(&a, NULL, user, (void *)0);
    JOIN(a);
#ifndef REPAIRED
    sem_post(&door);
#endif
    pthread_create(&b, NULL, user, (void *)0);
    pthread_create(&c, NULL, user, (void *)1);
    JOIN(b);
    JOIN(c);
    return 0;
}
