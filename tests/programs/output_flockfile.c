// Threads hold standard output by flockfile; the order, and which tries found it held, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: flockfile funlockfile ftrylockfile
#include "order.h"
static int busy[5];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 40; i++) {
        jitter();
        if (i % 3 == 0 && ftrylockfile(stdout) != 0) {
            busy[id]++;
            continue;
        }
        if (i % 3) flockfile(stdout);
        putchar_unlocked('0' + id);
        if (i % 2) jitter();
        putchar_unlocked('a' + id);
        funlockfile(stdout);
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    printf(" %d %d %d %d\n", busy[1], busy[2], busy[3], busy[4]);
    return 0;
}
