// Handles the signal that asks it to end, and waits for input: a replay of it must still end when it is asked to.
//@ flags: -pthread
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static void handler(int number) { (void)number; }
int main(void) {
    char byte;
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &action, NULL);
    printf("%d\n", (int)read(0, &byte, 1));
    return 0;
}
