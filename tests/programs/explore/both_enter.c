// Mutual exclusion reinvented: each looks whether the other is inside before it says that it is itself.
// Decides: both looks come before both announcements.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,1,2,2,2,2,2,2,2,1,1,1
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
static int wants[2], inside;

static void say(int who, int value) {
    LOCK(lock);
    wants[who] = value;
    UNLOCK(lock);
}

static int sees(int who) {
    LOCK(lock);
    int value = wants[who];
    UNLOCK(lock);
    return value;
}

static void *thread(void *number) {
    int me = number != NULL;
    if (me) LATER();
#ifdef REPAIRED
    say(me, 1);
    int is_free = !sees(!me);
#else
    int is_free = !sees(!me);
    say(me, 1);
#endif
    if (is_free) {
        LOCK(lock);
        assert(++inside == 1);
        UNLOCK(lock);
        LOCK(lock);
        inside--;
        UNLOCK(lock);
    }
    say(me, 0);
    return NULL;
}

int main(void) {
    pthread_t a, b;
    pthread_create(&a, NULL, thread, NULL);
    pthread_create(&b, NULL, thread, &lock);
    JOIN(a);
    JOIN(b);
    return 0;
}
