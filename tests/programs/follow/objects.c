// Each thread wants something else that is not to be had.
#include <pthread.h>
#include <semaphore.h>
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t pair;
static pthread_once_t ready = PTHREAD_ONCE_INIT;
static sem_t slots;
static void prepare(void) { sem_wait(&slots); }
static void *want(void *which) {
    switch ((long)which) {
    case 1: pthread_rwlock_rdlock(&table); break;
    case 2: pthread_rwlock_wrlock(&table); break;
    case 3: sem_wait(&slots); break;
    case 4: pthread_barrier_wait(&pair); break;
    case 5: pthread_spin_lock(&spin); break;
    default: pthread_once(&ready, prepare);
    }
    return which;
}
int main(void) {
    pthread_t threads[7];
    sem_init(&slots, 0, 0);
    pthread_barrier_init(&pair, NULL, 2);
    pthread_spin_init(&spin, 0);
    pthread_rwlock_wrlock(&table);
    pthread_spin_lock(&spin);
    for (long at = 0; at < 7; at++) pthread_create(&threads[at], NULL, want, (void *)(at + 1));
    for (int at = 0; at < 7; at++) pthread_join(threads[at], NULL);
    return 0;
}
