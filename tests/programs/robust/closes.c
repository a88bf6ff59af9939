// Closes every descriptor, as daemons do, and then works; the files that it opens have the numbers that they should have.
//@ flags: -pthread
#include "../order.h"
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int total;
static unsigned order = 2166136261u;
static void *body(void *id) {
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&lock);
        total++;
        order = (order ^ (unsigned)(long)id) * 16777619u;
        pthread_mutex_unlock(&lock);
        if (i % 64 == 0) jitter();
    }
    return NULL;
}
int main(void) {
    int status;
    for (int fd = 0; fd < 1024; fd++) close(fd);
    run_threads(4, body);
    int first = open("closed.out", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = fork();
    if (child == 0) _exit(total == 8000 ? 3 : 4);
    waitpid(child, &status, 0);
    int second = open("/dev/null", O_RDONLY);
    dprintf(first, "total %d first %d second %d child %d\norder %08x\n", total, first, second, WEXITSTATUS(status), order);
    return 5;
}
