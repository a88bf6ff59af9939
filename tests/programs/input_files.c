// Threads open files in every way between entries in a log; files that stay the same give the same, and the order returns.
//@ flags: -pthread -D_LARGEFILE64_SOURCE
//@ replay: 20 times, same stdout
//@ covers: open open64 __open_2 __open64_2 openat openat64 fopen fopen64 freopen
#include "order.h"
#include <fcntl.h>
#include <unistd.h>
int __open_2(const char *, int), __open64_2(const char *, int);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *path = "/proc/self/comm";
static int by_stream(FILE *file) {
    char byte = 0;
    if (file == NULL || fread(&byte, 1, 1, file) != 1) byte = '?';
    if (file != NULL) fclose(file);
    return byte;
}
static int by_number(int file) {
    char byte = 0;
    if (file < 0 || read(file, &byte, 1) != 1) byte = '?';
    if (file >= 0) close(file);
    return byte;
}
static void *body(void *id) {
    for (int i = 0; i < 27; i++) {
        int byte = 0;
        jitter();
        switch (i % 9) {
        case 0: byte = by_number(open(path, O_RDONLY)); break;
        case 1: byte = by_number(open64(path, O_RDONLY | O_CLOEXEC)); break;
        case 2: byte = by_number(openat(AT_FDCWD, path, O_RDONLY)); break;
        case 3: byte = by_number(openat64(AT_FDCWD, path, O_RDONLY)); break;
        case 4: byte = by_number(__open_2(path, O_RDONLY)); break;
        case 5: byte = by_number(__open64_2(path, O_RDONLY)); break;
        case 6: byte = by_stream(fopen(path, "r")); break;
        case 7: byte = by_stream(fopen64(path, "re")); break;
        case 8: byte = by_stream(freopen("/dev/zero", "r", fopen(path, "r"))); break;
        }
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        note(byte);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    printf("missing %d %d ", open("/nonexistent", O_RDONLY), fopen("/nonexistent", "r") != NULL);
    run_threads(3, body);
    print_order();
    return 0;
}
