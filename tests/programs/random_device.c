// Random bytes that are read from the system's devices must come back; a descriptor that is given out again is another file.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: read __read_chk
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
extern ssize_t __read_chk(int, void *, size_t, size_t);
static void show(const unsigned char *bytes, long length) {
    for (long i = 0; i < length; i++) printf("%02x", bytes[i]);
    printf(" %ld\n", length);
}
int main(void) {
    unsigned char bytes[16];
    int fd = open("/dev/urandom", O_RDONLY), other = open("/dev/random", O_RDONLY | O_NONBLOCK);
    for (int i = 1; i < 5; i++) {
        show(bytes, read(fd, bytes, i * 4));
        show(bytes, __read_chk(other, bytes, 4, sizeof bytes));
    }
    close(fd);
    printf("the same descriptor %d: ", open("/dev/zero", O_RDONLY) == fd);
    show(bytes, read(fd, bytes, 4));
    dup2(other, 0);
    show(bytes, read(0, bytes, 8));
    printf("an error: %zd\n", read(0, NULL, 8));
}
