// Threads that create threads, joined by their parents; the order of a log over the whole tree must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_join pthread_exit
#include "order.h"
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void say(int id) {
    jitter();
    pthread_mutex_lock(&lock);
    note(id);
    pthread_mutex_unlock(&lock);
}
static void *body(void *arg) {
    long id = (long)arg, sum = id;
    for (int i = 0; i < 5; i++) say((int)id);
    if (id < 4) {
        pthread_t left, right;
        void *result;
        pthread_create(&left, NULL, body, (void *)(2 * id));
        say((int)id);
        pthread_create(&right, NULL, body, (void *)(2 * id + 1));
        pthread_join(right, &result);
        sum += (long)result;
        pthread_join(left, &result);
        sum += (long)result;
    }
    say((int)id);
    if (id % 2) pthread_exit((void *)sum);
    return (void *)sum;
}
int main(void) {
    pthread_t root;
    void *sum;
    pthread_create(&root, NULL, body, (void *)1L);
    pthread_join(root, &sum);
    printf("%ld ", (long)sum);
    print_order();
    return 0;
}
