// Threads write to standard output by system calls; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: write
#include "order.h"
#include <unistd.h>
static void *body(void *arg) {
    int id = (int)(long)arg;
    char digit = (char)('0' + id);
    for (int i = 0; i < 40; i++) {
        jitter();
        if (write(1, &digit, 1) != 1) return arg;
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    return 0;
}
