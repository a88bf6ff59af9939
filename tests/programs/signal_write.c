// A handler runs while its thread waits to write: in a replay, too, since whoever reads waits for what the handler does.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: write fork kill waitpid usleep
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LENGTH = 1 << 20 };
static int data[2], told[2];
static char bytes[LENGTH];

static void tell(int number) {
    (void)number;
    if (write(told[1], "!", 1) != 1) abort();
}
static int child(void) {
    char byte;
    int all = 0;
    ssize_t got;
    close(data[1]);
    usleep(50000); // the parent has filled the pipe
    kill(getppid(), SIGUSR1);
    if (read(told[0], &byte, 1) != 1) return 1;
    while ((got = read(data[0], bytes, sizeof bytes)) > 0) all += (int)got;
    return all == LENGTH ? 3 : 2;
}
int main(void) {
    struct sigaction action = {.sa_handler = tell, .sa_flags = SA_RESTART};
    int status;
    size_t written = 0;
    if (pipe(data) != 0 || pipe(told) != 0) return 1;
    sigaction(SIGUSR1, &action, NULL);
    if (fork() == 0) _exit(child());
    close(data[0]);
    while (written < LENGTH) {
        ssize_t now = write(data[1], bytes + written, LENGTH - written);
        if (now > 0) written += (size_t)now;
    }
    close(data[1]);
    while (wait(&status) < 0) {}
    printf("the child ended with %d\n", WEXITSTATUS(status));
    return 0;
}
