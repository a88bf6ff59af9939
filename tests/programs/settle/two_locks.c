// A word that is written under one lock and read under another, as in GNU sort: what a thread does next depends on it.
//@ flags: -pthread
//@ replay: 20 times, same stdout
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
enum { ROUNDS = 10 };
static pthread_mutex_t locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static volatile int end;
static char order[2][4 * ROUNDS + 1];
static int many[2];
static void take(int which, char who) {
    pthread_mutex_lock(&locks[which]);
    order[which][many[which]++] = who;
    pthread_mutex_unlock(&locks[which]);
}
static void *child(void *unused) {
    for (int i = 1; i <= ROUNDS; i++) {
        usleep(100 + i % 3 * 100);
        end = i;
        take(0, 'a');
        take(1, 'b');
    }
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, child, NULL);
    int last = 0;
    for (int i = 0; i < ROUNDS; i++) {
        usleep(150);
        int now = end;
        take(now > last, now > last ? 'm' : '-');
        last = now;
    }
    pthread_join(thread, NULL);
    printf("%s\n%s\n", order[0], order[1]);
    return 0;
}
