// The only thread waits for input: nobody waits for its turn, and so nobody looks at it.
#include <stdio.h>
#include <unistd.h>

int main(void) {
    char byte;
    printf("%zd\n", read(0, &byte, 1));
    return 0;
}
