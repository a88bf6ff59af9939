// A thread uses plain memory that its creator sets after the creation: the order of the two decides, and no lock shows it.
//@ flags: -pthread -g
#include <pthread.h>
#include <stdlib.h>

static int value;

static void *body(void *unused) {
    if (value == 0) abort();
    return unused;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    value = 1;
    pthread_join(thread, NULL);
    return 0;
}
