// Which tries at a rwlock, for reading and for writing, found it busy must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_rwlock_tryrdlock pthread_rwlock_trywrlock pthread_rwlock_unlock
#include "order.h"
#include <errno.h>
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static unsigned outcomes[5];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 80; i++) {
        int write = (i + id) % 3 == 0;
        int error = write ? pthread_rwlock_trywrlock(&lock) : pthread_rwlock_tryrdlock(&lock);
        outcomes[id] = outcomes[id] * 31 + (error == EBUSY);
        if (error == 0) {
            if (write) note(id);
            else outcomes[id] = outcomes[id] * 31 + (unsigned)order_len;
            jitter();
            pthread_rwlock_unlock(&lock);
        }
        if (i % 2) jitter();
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    for (int i = 1; i < 5; i++) printf("%08x ", outcomes[i]);
    print_order();
    return 0;
}
