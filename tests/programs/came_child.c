// A child ends just when its output has been read: what that read brought must come back to it, not to the next one.
//@ flags: -O1
//@ replay: 20 times, same stdout
//@ covers: read waitpid fork
#include "order.h"
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ended;
static void handle(int number) {
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) ended++;
}
int main(int argc, char **argv) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    (void)argc;
    struct sched_param none = {0};
    unsigned sum = 0;
    cpu_set_t first; // so that the child is gone when its parent sees the end of what it wrote
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    sched_setaffinity(0, sizeof first, &first);
    sched_setscheduler(0, SCHED_BATCH, &none);
    sigaction(SIGCHLD, &action, NULL);
    for (int round = 0; round < 150; round++) {
        int out[2], file = open(argv[0], O_RDONLY);
        char bytes[64], rest[64];
        ssize_t many;
        if (file < 0 || pipe(out) != 0 || lseek(file, -15, SEEK_END) < 0) return 1;
        if (fork() == 0) {
            if (write(out[1], "some", 1 + (unsigned)round % 4) < 0) _exit(1);
            if (round % 2) usleep(50);
            _exit(0);
        }
        close(out[1]);
        while ((many = read(out[0], bytes, sizeof bytes)) > 0) sum = sum * 31 + (unsigned)many;
        many = read(file, rest, sizeof rest);
        printf("%d ", (int)many);
        if (lseek(file, 0, SEEK_SET) != 0) return 1;
        printf("%d ", (int)read(file, bytes, sizeof bytes));
        for (ssize_t i = 0; i < many; i++) sum = sum * 31 + (unsigned char)rest[i];
        close(out[0]), close(file);
        while (ended <= round) usleep(100);
    }
    printf("%u\n", sum);
    return 0;
}
