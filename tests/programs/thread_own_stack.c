// Threads on stacks that the program brought, with a guard size and a scheduling policy asked for; the order must return.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_join
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char stacks[3][65536] __attribute__((aligned(4096)));
static void *body(void *id) {
    char here;
    for (int i = 0; i < 40; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    char *stack = stacks[(long)id - 1];
    return (void *)(long)(&here > stack && &here < stack + sizeof stacks[0]);
}
int main(void) {
    pthread_t threads[3];
    long on_own = 0;
    for (long i = 0; i < 3; i++) {
        pthread_attr_t attr;
        pthread_attr_init(&attr);
        pthread_attr_setguardsize(&attr, 8192);
        pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
        pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
        pthread_attr_setstack(&attr, stacks[i], sizeof stacks[i]);
        if (pthread_create(&threads[i], &attr, body, (void *)(i + 1)) != 0) return 1;
        pthread_attr_destroy(&attr);
    }
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        on_own += (long)result;
    }
    printf("%ld ", on_own);
    print_order();
    return 0;
}
