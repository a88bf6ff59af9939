// Two threads that do nothing, joined in order.
#include <pthread.h>
static void *body(void *unused) { return unused; }
int main(void) {
    pthread_t one, two;
    pthread_create(&one, NULL, body, NULL);
    pthread_create(&two, NULL, body, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
