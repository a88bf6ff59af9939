// Every key for thread-specific data that there is, and the first of them.
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
int main(void) {
    pthread_key_t first, key;
    int many = 1;
    if (pthread_key_create(&first, NULL) != 0) return 1;
    while (many < PTHREAD_KEYS_MAX && pthread_key_create(&key, NULL) == 0) many++;
    printf("%d keys, the first is %u\n", many, first);
    return 0;
}
