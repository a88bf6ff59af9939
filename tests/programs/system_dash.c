// Commands that begin with a dash, and ways to open a pipe that there are not: as libc itself does it.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: system popen pclose
#include "order.h"
#include <errno.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
static int opens(const char *how) {
    errno = 0;
    FILE *pipe = popen("exit 3", how);
    return pipe == NULL ? errno : pclose(pipe);
}
int main(void) {
    // The shell takes the dash for an option of its own, unless libc tells it otherwise.
    int is_told = strtod(gnu_get_libc_version(), NULL) > 2.375;
    FILE *pipe = popen("-x 2>&1; exit 4", "w");
    int ran = system("-x 2>&1; exit 4") == 4 << 8, piped = pclose(pipe) == 4 << 8;
    printf("system %s, popen %s\n", ran == is_told ? "so" : "other", piped == is_told ? "so" : "other");
    for (const char **how = (const char *[]){"r", "w", "re", "rw", "wr", "", "e", "x", NULL}; *how; how++)
        printf("%s %d\n", *how, opens(*how));
    return ran != is_told || piped != is_told || opens("rw") != EINVAL;
}
