// A rwlock that prefers writers, and one shared between processes; the order must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_rwlock_init pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_unlock fork wait
#include "order.h"
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static struct shared { pthread_rwlock_t lock; int len, log[1024]; } *shared;
static pthread_rwlock_t lock;
static unsigned seen[4];
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 40; i++) {
        jitter();
        if (i % 3 == 0) pthread_rwlock_wrlock(&lock), note(id);
        else pthread_rwlock_rdlock(&lock), seen[id] = seen[id] * 31 + (unsigned)order_len;
        pthread_rwlock_unlock(&lock);
        if (i % 3) pthread_rwlock_wrlock(&shared->lock), shared->log[shared->len++] = id + 10 * (int)(seen[0]);
        else pthread_rwlock_rdlock(&shared->lock), seen[id] = seen[id] * 31 + (unsigned)shared->len;
        pthread_rwlock_unlock(&shared->lock);
    }
    return NULL;
}
int main(void) {
    pthread_rwlockattr_t attr;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock, &attr);
    pthread_rwlockattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_rwlock_init(&shared->lock, &attr);
    pid_t child = fork();
    seen[0] = child == 0;
    run_threads(3, body);
    if (child == 0) _exit((int)(order_hash() & 127));
    int status;
    wait(&status);
    printf("%d %08x %08x %08x ", WEXITSTATUS(status), seen[1], seen[2], seen[3]);
    for (int i = 0; i < shared->len; i++) note(shared->log[i]);
    print_order();
    return 0;
}
