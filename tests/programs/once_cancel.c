// A once routine is cancelled in the middle and run again by another thread; who began and who finished must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_once pthread_cancel pthread_testcancel
#include "order.h"
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int me;
static void say(int id) {
    jitter();
    pthread_mutex_lock(&lock);
    note(id);
    pthread_mutex_unlock(&lock);
}
static void routine(void) {
    say(me);
    if (me != 3)
        for (;;) jitter(), pthread_testcancel();
    say(me + 20);
}
static void *body(void *id) {
    me = (int)(long)id;
    jitter();
    pthread_once(&once, routine);
    say(me + 10);
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 10; i++) jitter();
    pthread_cancel(threads[0]);
    pthread_cancel(threads[1]);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        printf("%d", result == PTHREAD_CANCELED);
    }
    putchar(' ');
    print_order();
    return 0;
}
