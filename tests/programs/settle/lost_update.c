// Two threads read a word, and only then both write it: a race inside of what they do between two points. No order of
// threads that run one at a time brings that back.
//@ flags: -pthread
#include <pthread.h>
#include <stdio.h>
static volatile int counter;
static void *body(void *unused) {
    int read = counter;
    for (volatile long work = 0; work < 100000000; work++) {}
    counter = read + 1;
    return unused;
}
int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, body, NULL);
    pthread_create(&two, NULL, body, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    if (counter == 2) pthread_create(&one, NULL, body, NULL), pthread_join(one, NULL);
    printf("%d\n", counter);
    return 0;
}
