// A timed wait that nobody signals, and one that gives the mutex to another meanwhile.
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static int seen;
static void *other(void *unused) {
    pthread_mutex_lock(&lock);
    seen = 1;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    struct timespec until = {.tv_sec = time(NULL) + 3600};
    pthread_create(&thread, NULL, other, NULL);
    pthread_mutex_lock(&lock);
    int result = pthread_cond_timedwait(&never, &lock, &until);
    printf("%s, seen %d\n", result == ETIMEDOUT ? "timed out" : "woken", seen);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, NULL);
    return 0;
}
