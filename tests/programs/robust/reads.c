// Tells how many bytes each read of standard input brings. What came at once comes at once again, or less if no more comes.
//@ flags: -O1
#include <stdio.h>
#include <unistd.h>
int main(void) {
    char room[64];
    for (ssize_t got; (got = read(0, room, sizeof room)) > 0;) printf("%zd\n", got), fflush(stdout);
    return 0;
}
