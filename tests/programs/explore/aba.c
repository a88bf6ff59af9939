// ABA in a free list: head and next are read in one section, and head is changed in another if it is still the same.
// Decides: the other thread's three sections come between the two sections of one `pop`.
//@ flags: -pthread
//@ ends: 134
//@ fails: 0,0,0,1,1,1,2,2,2,2,2,2,2,2,2,2,2,2,1,1,1,0,0
//@ replay: 3 times
#include "explore.h"

MUTEX(lock);
typedef struct node {
    struct node *next;
    int is_used;
} node;
static node c = {NULL, 0}, b = {&c, 0}, a = {&b, 0};
static node *head = &a;

static node *pop(void) {
    for (;;) {
        LOCK(lock);
        node *seen = head, *next = seen->next;
#ifndef REPAIRED
        UNLOCK(lock);
        LOCK(lock);
#endif
        int is_same = head == seen;
        if (is_same) {
            head = next;
            assert(!seen->is_used);
            seen->is_used = 1;
        }
        UNLOCK(lock);
        if (is_same) return seen;
    }
}

static void push(node *freed) {
    LOCK(lock);
    freed->is_used = 0;
    freed->next = head;
    head = freed;
    UNLOCK(lock);
}

static void *one(void *unused) {
    pop();
    return unused;
}

static void *other(void *unused) {
    LATER();
    node *first = pop();
    pop();
    push(first);
    return unused;
}

int main(void) {
    pthread_t x, y;
    START(x, one);
    START(y, other);
    JOIN(x);
    JOIN(y);
    assert(!head->is_used);
    return 0;
}
