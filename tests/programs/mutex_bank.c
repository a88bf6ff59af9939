// Transfers between eight accounts, two mutexes held at once, always in address order; every balance seen must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
static struct account { pthread_mutex_t lock; unsigned balance; } accounts[8];
static unsigned seen[5];
static void *body(void *id) {
    unsigned random = (unsigned)(long)id * 2654435761u;
    for (int i = 0; i < 200; i++) {
        random = random * 1103515245u + 12345u;
        struct account *a = &accounts[random >> 16 & 7], *b = &accounts[random >> 20 & 7];
        if (a == b) continue;
        if (a > b) { struct account *c = a; a = b; b = c; }
        pthread_mutex_lock(&a->lock);
        pthread_mutex_lock(&b->lock);
        unsigned moved = a->balance / 3 + (unsigned)(long)id;
        a->balance -= moved;
        b->balance += moved;
        seen[(long)id] = seen[(long)id] * 31 + b->balance;
        pthread_mutex_unlock(&a->lock);
        pthread_mutex_unlock(&b->lock);
        if (i % 4 == 0) jitter();
    }
    return NULL;
}
int main(void) {
    for (int i = 0; i < 8; i++) pthread_mutex_init(&accounts[i].lock, NULL), accounts[i].balance = 1000u;
    run_threads(4, body);
    for (int i = 0; i < 8; i++) printf("%u ", accounts[i].balance);
    for (int i = 1; i < 5; i++) printf("%08x ", seen[i]);
    putchar('\n');
    return 0;
}
