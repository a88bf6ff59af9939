// Destructors of thread-specific data lock and log, after the thread's function returned; their order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_join pthread_exit pthread_mutex_lock pthread_key_create
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t first, second;
static void log_in(int id) {
    jitter();
    pthread_mutex_lock(&lock);
    note(id);
    pthread_mutex_unlock(&lock);
}
static void end_first(void *value) {
    log_in((int)(long)value);
    if ((long)value < 30) pthread_setspecific(second, (void *)((long)value + 10)); // a second round of destructors
}
static void end_second(void *value) { log_in((int)(long)value); }
static void *body(void *id) {
    pthread_setspecific(first, (void *)((long)id + 10));
    pthread_setspecific(second, (void *)((long)id + 40));
    for (int i = 0; i < 5; i++) log_in((int)(long)id);
    if ((long)id % 2) pthread_exit(id);
    return id;
}
int main(void) {
    pthread_key_create(&first, end_first);
    pthread_key_create(&second, end_second);
    run_threads(6, body);
    run_threads(6, body);
    pthread_key_delete(first);
    print_order();
    return 0;
}
