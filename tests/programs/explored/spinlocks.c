// Two threads take two spinlocks in different orders: in one order of the four operations both spin for ever.
//@ flags: -pthread -g
#include <pthread.h>

static pthread_spinlock_t one, two;

static void *forwards(void *unused) {
    pthread_spin_lock(&one);
    pthread_spin_lock(&two);
    pthread_spin_unlock(&two);
    pthread_spin_unlock(&one);
    return unused;
}

static void *backwards(void *unused) {
    pthread_spin_lock(&two);
    pthread_spin_lock(&one);
    pthread_spin_unlock(&one);
    pthread_spin_unlock(&two);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_spin_init(&one, 0);
    pthread_spin_init(&two, 0);
    pthread_create(&threads[0], NULL, forwards, NULL);
    pthread_create(&threads[1], NULL, backwards, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    return 0;
}
