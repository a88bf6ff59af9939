// A thread's function ends without unlocking a mutex that only it can unlock; a destructor of its data does.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
static pthread_mutex_t gate = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_barrier_t both;
static pthread_key_t key;
static void open_it(void *x) {
    (void)x;
    usleep(50000);
    pthread_mutex_unlock(&gate);
}
static void *ends(void *x) {
    pthread_setspecific(key, &key);
    pthread_mutex_lock(&gate);
    pthread_barrier_wait(&both);
    return x;
}
int main(void) {
    pthread_barrier_init(&both, NULL, 2);
    pthread_key_create(&key, open_it);
    pthread_t thread = start(ends, 0);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&gate);
    puts("open");
    pthread_mutex_unlock(&gate);
    pthread_join(thread, NULL);
    return 0;
}
