// Mutexes that live in heap memory which is freed and used again; the order on each of them must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock pthread_mutex_unlock
#include "order.h"
#include <stdlib.h>
static struct node { pthread_mutex_t lock; unsigned users, hash; } *nodes[4];
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static struct node *fresh(void) {
    struct node *node = calloc(1, sizeof *node);
    pthread_mutex_init(&node->lock, NULL);
    return node;
}
static void release(struct node *node) { // called with the table locked
    if (--node->users > 0) return;
    note((int)node->hash);
    pthread_mutex_destroy(&node->lock);
    free(node);
}
static void *body(void *id) {
    unsigned random = (unsigned)(long)id;
    for (int i = 0; i < 150; i++) {
        random = random * 1103515245u + 12345u;
        pthread_mutex_lock(&table);
        struct node **slot = &nodes[random >> 16 & 3], *node = *slot;
        if ((random >> 20 & 3) == 0) release(node), node = *slot = fresh(), node->users = 1;
        node->users++;
        pthread_mutex_unlock(&table);
        if (i % 2) jitter();
        pthread_mutex_lock(&node->lock);
        node->hash = node->hash * 31 + (unsigned)(long)id;
        pthread_mutex_unlock(&node->lock);
        pthread_mutex_lock(&table);
        release(node);
        pthread_mutex_unlock(&table);
    }
    return NULL;
}
int main(void) {
    for (int i = 0; i < 4; i++) nodes[i] = fresh(), nodes[i]->users = 1;
    run_threads(4, body);
    print_order();
    return 0;
}
