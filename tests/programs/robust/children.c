// 300 children, all at once; the sum of what they return is always the same, the order of their ends comes back.
//@ flags: -pthread
#include "../order.h"
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int made = 0, sum = 0, status;
    unsigned order = 2166136261u;
    for (int i = 0; i < 300; i++) {
        pid_t child = fork();
        if (child == 0) {
            jitter();
            _exit(i % 100);
        }
        made += child > 0;
    }
    for (int i = 0; i < made && wait(&status) > 0; i++) {
        sum += WEXITSTATUS(status);
        order = (order ^ (unsigned)WEXITSTATUS(status)) * 16777619u;
    }
    printf("made %d sum %d\norder %08x\n", made, sum, order);
    return 0;
}
