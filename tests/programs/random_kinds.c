// Random bytes from every function that gives them must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: getrandom getentropy arc4random arc4random_buf arc4random_uniform
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>
static void show(const unsigned char *bytes, int length) {
    for (int i = 0; i < length; i++) printf("%02x", bytes[i]);
    putchar(' ');
}
int main(void) {
    static unsigned char bytes[5000];
    for (int i = 0; i < 10; i++) {
        printf("%zd ", getrandom(bytes, 8 + (size_t)i, i % 2 ? GRND_NONBLOCK : 0));
        show(bytes, 8 + i);
        printf("%d ", getentropy(bytes, 16));
        show(bytes, 16);
        printf("%08x ", arc4random());
        arc4random_buf(bytes, 12);
        show(bytes, 12);
        printf("%u\n", arc4random_uniform(1000));
    }
    printf("%zd ", getrandom(bytes, sizeof bytes, 0));
    show(bytes, sizeof bytes);
    printf("%d\n", getentropy(bytes, 257)); // refused
    return 0;
}
