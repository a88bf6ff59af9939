// Which tries at a semaphore failed, and the values seen in passing, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: sem_trywait sem_post sem_getvalue
#include "order.h"
#include <errno.h>
#include <semaphore.h>
static sem_t sem;
static unsigned outcomes[5];
static void *body(void *arg) {
    int id = (int)(long)arg, value;
    for (int i = 0; i < 80; i++) {
        int got = sem_trywait(&sem) == 0;
        outcomes[id] = outcomes[id] * 31 + (unsigned)(got ? 0 : errno);
        jitter();
        sem_getvalue(&sem, &value);
        outcomes[id] = outcomes[id] * 31 + (unsigned)value;
        if (got) sem_post(&sem);
        jitter();
    }
    return NULL;
}
int main(void) {
    int value;
    sem_init(&sem, 0, 2);
    run_threads(4, body);
    sem_getvalue(&sem, &value);
    printf("%d %08x %08x %08x %08x\n", value, outcomes[1], outcomes[2], outcomes[3], outcomes[4]);
    return 0;
}
