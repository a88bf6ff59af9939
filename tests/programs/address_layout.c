// Addresses of code, data, heap, stack and libraries must come back: the layout is fixed.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_create pthread_join
#include "order.h"
#include <stdlib.h>
#include <sys/mman.h>
static void *where;
static void *body(void *id) {
    char here;
    void *heap = malloc(100);
    printf("thread %ld stack %p heap %p self %lx\n", (long)id, (void *)&here, heap, (unsigned long)pthread_self());
    free(heap);
    return NULL;
}
int main(void) {
    char here;
    void *small = malloc(10), *big = malloc(1 << 20);
    void *map = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    where = (void *)&main;
    printf("code %p data %p stack %p heap %p %p map %p libc %p\n", where, (void *)&where, (void *)&here, small, big, map,
           (void *)&printf);
    for (int i = 0; i < 3; i++) run_threads(1, body);
    return 0;
}
