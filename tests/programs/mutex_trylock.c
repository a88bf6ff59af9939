// Which trylocks found the mutex busy must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_trylock pthread_mutex_unlock
#include "order.h"
#include <errno.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned outcomes[5];
static void *body(void *id) {
    for (int i = 0; i < 100; i++) {
        int error = pthread_mutex_trylock(&lock);
        outcomes[(long)id] = outcomes[(long)id] * 31 + (error == EBUSY);
        if (error == 0) {
            note((int)(long)id);
            jitter();
            pthread_mutex_unlock(&lock);
        }
        jitter();
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    for (int i = 1; i < 5; i++) printf("%08x ", outcomes[i]);
    print_order();
    return 0;
}
