// Two threads take two read-write locks in opposite orders, and write. Repaired: one of them only reads, and so does the
// other where they meet.
//@ flags: -pthread
#include "../programs/apart.h"
#include <pthread.h>

static pthread_rwlock_t index_lock = PTHREAD_RWLOCK_INITIALIZER, table_lock = PTHREAD_RWLOCK_INITIALIZER;

#ifdef REPAIRED
#define TAKE pthread_rwlock_rdlock
#else
#define TAKE pthread_rwlock_wrlock
#endif

static void *one(void *unused) {
    pthread_rwlock_rdlock(&index_lock);
    pthread_rwlock_rdlock(&table_lock);
    pthread_rwlock_unlock(&table_lock);
    pthread_rwlock_unlock(&index_lock);
    pass();
    return unused;
}

static void *two(void *unused) {
    after(1);
    TAKE(&table_lock);
    TAKE(&index_lock);
    pthread_rwlock_unlock(&index_lock);
    pthread_rwlock_unlock(&table_lock);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, one, NULL);
    pthread_create(&threads[1], NULL, two, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
