// Children that fork children, twenty in all, each with its own name in the tree; every status must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: fork _Fork wait getrandom _exit
#include "order.h"
#include <stdlib.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
static int grow(int depth) { // a sum that depends on random numbers and on the order in which children end
    unsigned char number;
    int sum = getrandom(&number, 1, 0) == 1 ? number : 0;
    for (int i = 0; i < depth + 1 && depth > 0; i++)
        if ((i % 2 ? _Fork() : fork()) == 0) {
            jitter();
            _exit(grow(depth - 1) % 200);
        }
    int status;
    while (wait(&status) > 0) sum = sum * 3 + WEXITSTATUS(status);
    return sum & 0xffff;
}
int main(void) {
    for (int i = 0; i < 2; i++) note(grow(2));
    print_order();
    printf("%d %d\n", order_log[0], order_log[1]);
    return 0;
}
