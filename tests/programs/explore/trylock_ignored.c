// A try whose failure is ignored: the section is entered without the lock.
// Decides: the second visitor's try comes between the first one's two locks of `journal`.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,2,2,2,2,2,1,1,1,1,0,0
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
MUTEX(journal);
static int visits, lines;

static void note(void) {
    LOCK(journal);
    lines++;
    UNLOCK(journal);
}

static void *visitor(void *late) {
    if (late) LATER();
#ifdef REPAIRED
    LOCK(lock);
    int is_mine = 1;
#else
    int is_mine = pthread_mutex_trylock(&lock) == 0;
#endif
    int seen = visits;
    note();
    visits = seen + 1;
    if (is_mine) UNLOCK(lock);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, visitor, NULL);
    pthread_create(&b, NULL, visitor, &lock);
    JOIN(a);
    JOIN(b);
    assert(visits == 2 && lines == 2);
    return 0;
}
