// Signals the process whose id it is given.
//@ flags:
//@ replay: 3 times, same stdout
//@ covers: kill
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
int main(int many, char **words) {
    printf("%d\n", kill(many > 1 ? atoi(words[1]) : -2, SIGUSR1));
    return 0;
}
