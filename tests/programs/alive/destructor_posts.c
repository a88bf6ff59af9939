// The last thread's function has ended; a destructor of its data still posts.
//@ flags: -pthread
//@ replay: 5 times
#include "alive.h"
#include <semaphore.h>
static sem_t go;
static pthread_key_t key;
static void post(void *x) {
    (void)x;
    usleep(50000);
    sem_post(&go);
}
static void *ends(void *x) {
    pthread_setspecific(key, &key);
    return x;
}
int main(void) {
    sem_init(&go, 0, 0);
    pthread_key_create(&key, post);
    pthread_detach(start(ends, 0));
    sem_wait(&go);
    puts("posted");
    return 0;
}
