// A thread that does nothing, joined.
#include <pthread.h>
static void *body(void *unused) { return unused; }
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
    return 0;
}
