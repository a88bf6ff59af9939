// A plain flag, set by one thread and looked at by another after a sleep. Replays do not sleep, and look too early; with
// the order that is found, the branch that was taken is taken again.
//@ flags: -pthread
//@ replay: 20 times, same stdout
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int flag;
static int seen, rounds;
static void *setter(void *unused) {
    for (int i = 0; i < 6; i++) {
        usleep(3000);
        flag++;
        pthread_mutex_lock(&lock);
        rounds++;
        pthread_mutex_unlock(&lock);
    }
    return unused;
}
static void *helper(void *unused) {
    pthread_mutex_lock(&lock);
    seen++;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread, helpers[6];
    int many = 0;
    pthread_create(&thread, NULL, setter, NULL);
    for (int i = 0; i < 6; i++) {
        usleep(2000);
        // What is done depends on what the other has done to plain memory.
        if (flag > many) pthread_create(&helpers[many++], NULL, helper, NULL);
        pthread_mutex_lock(&lock);
        rounds += 100;
        pthread_mutex_unlock(&lock);
    }
    for (int i = 0; i < many; i++) pthread_join(helpers[i], NULL);
    pthread_join(thread, NULL);
    printf("%d rounds, %d helpers, %d seen\n", rounds, many, seen);
    return 0;
}
