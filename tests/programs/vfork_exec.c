// vfork and exec, of this program and of none; who ended first, and each order, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: vfork execv wait _exit
#include "order.h"
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (int i = 0; i < 20; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(int argc, char **argv) {
    static char path[4096];
    char *args[] = {argv[0], "child", NULL};
    pid_t children[4];
    run_threads(2, body);
    if (argc > 1) return (int)(order_hash() % 251);
    if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return 1;
    for (int i = 0; i < 4; i++) {
        children[i] = vfork();
        if (children[i] == 0) {
            execv(i < 3 ? path : "/nonexistent", args);
            _exit(99);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status;
        pid_t ended = wait(&status);
        for (int j = 0; j < 4; j++)
            if (children[j] == ended) printf("child %d ended %d\n", j, WEXITSTATUS(status));
    }
    print_order();
    return 0;
}
