// Tells what its standard streams are, as libraries ask: the same must come back wherever a replay has them lead to.
//@ flags:     //@ covers: isatty
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *kind(int fd) {
    struct stat data;
    if (isatty(fd)) return "terminal";
    if (fstat(fd, &data)) return "closed";
    return S_ISFIFO(data.st_mode) ? "pipe" : S_ISSOCK(data.st_mode) ? "socket" : S_ISREG(data.st_mode) ? "file" : "other";
}

int main(void) {
    struct winsize size = {0};
    char byte;
    ioctl(1, TIOCGWINSZ, &size);
    for (int i = 0; i < 3; i++) {
        dprintf(1, "out %d: %s %s %s %dx%d\n", i, kind(0), kind(1), kind(2), size.ws_row, size.ws_col);
        dprintf(2, "error %d\n", i);
    }
    dprintf(1, "read %zd\n", read(0, &byte, 1));
    return 3;
}
