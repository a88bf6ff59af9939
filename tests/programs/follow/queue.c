// Two producers, one consumer, and a second mutex that stands for "empty": the consumer waits by locking it.
// The thesis's reads the counter without the lock, which no order of locks can bring back; here it is read under it.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static int slots[5], first, last, used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, empty = PTHREAD_MUTEX_INITIALIZER;
static void put(int value) {
    pthread_mutex_lock(&lock);
    slots[first] = value;
    first = (first + 1) % 5;
    used++;
    pthread_mutex_unlock(&lock);
    pthread_mutex_unlock(&empty);
}
static int get(void) {
    for (pthread_mutex_lock(&lock); used == 0; pthread_mutex_lock(&lock)) {
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&empty);
    }
    int value = slots[last];
    last = (last + 1) % 5;
    used--;
    pthread_mutex_unlock(&lock);
    return value;
}
static void *produce(void *base) {
    for (int i = 0; i < 3; i++) {
        usleep(100 * i);
        put(*(int *)base + i);
    }
    return NULL;
}
static void *consume(void *unused) {
    for (int i = 0; i < 7; i++) printf("got %d\n", get()); // one more than there are: it always ends in a deadlock
    return unused;
}
int main(void) {
    static int bases[] = {0, 100};
    pthread_t threads[3];
    pthread_create(&threads[0], NULL, produce, &bases[0]);
    pthread_create(&threads[1], NULL, produce, &bases[1]);
    pthread_create(&threads[2], NULL, consume, NULL);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    return 0;
}
