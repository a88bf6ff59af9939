// What is opened in /proc by a recorded id is of the process or thread that has the id now.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: open openat fopen freopen
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void look(const char *who, pid_t id) {
    char path[64], name[32] = "";
    sprintf(path, "/proc/%d/comm", (int)id);
    int fd = open(path, O_RDONLY), other = openat(AT_FDCWD, path, O_RDONLY);
    FILE *stream = fopen(path, "r");
    stream = stream ? freopen(path, "r", stream) : NULL;
    printf("%s %d: %zd %zd %s", who, (int)id, read(fd, name, 4), read(other, name, 4),
           stream && fgets(name, sizeof name, stream) ? name : "nobody\n");
    close(fd);
    close(other);
    if (stream) fclose(stream);
}
static void *thread(void *unused) {
    pthread_setname_np(pthread_self(), "second");
    look("thread", gettid());
    return unused;
}
int main(void) {
    pthread_t other;
    look("process", getpid());
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    FILE *none = fopen("/proc/0x/comm", "r");
    printf("none %d\n", none == NULL);
}
