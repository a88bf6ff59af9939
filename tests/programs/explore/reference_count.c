// A reference count: the pointer is fetched in one section, and its count is raised in the next.
// Decides: the owner's last release comes between the two.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,1,1,1,0,0,1
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
static struct object {
    int references, is_freed;
} only = {1, 0};
static struct object *current = &only;

static void release(struct object *object) {
    LOCK(lock);
    if (--object->references == 0) {
        object->is_freed = 1;
        current = NULL;
    }
    UNLOCK(lock);
}

static void *borrower(void *unused) {
    LOCK(lock);
    struct object *object = current;
#ifndef REPAIRED
    UNLOCK(lock);
    if (!object) return unused;
    LOCK(lock);
#endif
    if (object) {
        assert(!object->is_freed);
        object->references++;
    }
    UNLOCK(lock);
    if (object) release(object);
    return unused;
}

int main(void) {
    pthread_t thread;
    START(thread, borrower);
    LATER();
    release(&only);
    JOIN(thread);
    return 0;
}
