// Two threads take two locks in opposite order and sooner or later wait for ever; the alarm's end must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: setitimer pthread_mutex_lock pthread_mutex_unlock
//@ ends: 142
#include "apart.h"
#include "order.h"
#include <sys/time.h>
static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    pthread_mutex_t *first = (long)id == 1 ? &a : &b, *second = (long)id == 1 ? &b : &a;
    for (;;) {
        char digit = (char)('0' + (long)id);
        pthread_mutex_lock(first);
        jitter();
        pthread_mutex_lock(second);
        if (write(1, &digit, 1) != 1) return NULL;
        pthread_mutex_unlock(second);
        pthread_mutex_unlock(first);
        for (int i = 0; i < 4; i++) jitter();
    }
}
int main(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    until_it_hangs((int)syscall(SYS_getpid));
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {0, 1000}}, NULL);
    pthread_join(threads[0], NULL);
    return 0;
}
