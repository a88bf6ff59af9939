// The last thread's function has ended; a destructor of its C11 storage still signals.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
#include <threads.h>
static mtx_t lock;
static cnd_t ended;
static tss_t key;
static int done;
static void end(void *x) {
    usleep(20000);
    mtx_lock(&lock);
    done = 1;
    cnd_signal(&ended);
    mtx_unlock(&lock);
}
static int body(void *x) { return tss_set(key, &lock); }
int main(void) {
    thrd_t thread;
    mtx_init(&lock, mtx_plain);
    cnd_init(&ended);
    tss_create(&key, end);
    thrd_create(&thread, body, NULL);
    thrd_detach(thread);
    mtx_lock(&lock);
    while (!done) cnd_wait(&ended, &lock);
    return 0;
}
