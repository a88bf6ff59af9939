// Threads that wait for pipes, sleeps and children, and what they do to plain memory meanwhile, must come back: in a child, too.
//@ flags: -O1 -pthread
//@ replay: 20 times, same stdout
//@ covers: read write fork waitpid
#include "../order.h"
#include <sys/wait.h>
#include <unistd.h>
static int ends[2];
static volatile unsigned mixed;
static void mix(unsigned with) {
    unsigned before = mixed;
    jitter();
    mixed = before * 31 + with;
}
static void *writes(void *id) {
    for (int i = 0; i < 60; i++) {
        char byte = (char)('a' + i % 26);
        if (i % 9 == (int)(long)id) usleep(30);
        mix(i);
        write(ends[1], &byte, 1);
    }
    return NULL;
}
static void *reads(void *unused) {
    char bytes[7];
    for (long got = 0, many; got < 120; got += many) {
        many = read(ends[0], bytes, sizeof bytes);
        for (int i = 0; i < many; i++) mix(bytes[i]);
        note((int)many);
    }
    return unused;
}
static void run(const char *who) {
    pthread_t threads[3];
    pipe(ends);
    pthread_create(&threads[0], NULL, reads, NULL);
    for (long i = 1; i < 3; i++) pthread_create(&threads[i], NULL, writes, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("%s %x ", who, mixed);
    print_order();
    fflush(stdout);
}
int main(void) {
    pid_t child = fork();
    if (child == 0) {
        run("child");
        _exit(0);
    }
    waitpid(child, NULL, 0);
    run("parent");
}
