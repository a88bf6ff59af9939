// Another process sends signals to one that has two threads: each must run its handler once, where it ran.
//@ flags: -pthread
//@ replay: 20 times, same stdout
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
enum { SIGNALS = 24 };
static volatile sig_atomic_t came;
static void count(int number) { (void)number, came++; }
static void *body(void *to) {
    for (int i = 0; i < SIGNALS; i++) {
        int before = came;
        if (write(*(int *)to, "", 1) != 1) return to;
        while (came == before) usleep(1000);
    }
    return NULL;
}
int main(void) {
    int ask[2];
    char byte;
    pthread_t thread;
    if (pipe(ask) != 0) return 1;
    signal(SIGUSR1, count);
    pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < SIGNALS && read(ask[0], &byte, 1) == 1; i++) kill(getppid(), SIGUSR1);
        _exit(0);
    }
    pthread_create(&thread, NULL, body, &ask[1]);
    pthread_join(thread, NULL);
    waitpid(child, NULL, 0);
    printf("%d\n", (int)came);
    return 0;
}
