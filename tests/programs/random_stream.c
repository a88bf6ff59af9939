// Random bytes that are read through a stream are the same in every replay.
//@ flags: -O1      //@ replay: 20 times, same stdout      //@ covers: fread fopen freopen
#include <stdio.h>
static void show(const char *name) {
    unsigned char bytes[24];
    FILE *f = fopen(name, "r");
    if (!f || fread(bytes, 8, 3, f) != 3) return;
    for (int i = 0; i < 24; i++) printf("%02x", bytes[i]);
    if (fread(bytes, 1, 5, f) != 5 || !(f = freopen("/dev/zero", "r", f)) || fread(bytes + 5, 1, 3, f) != 3) return;
    for (int i = 0; i < 8; i++) printf(" %d", bytes[i]);
    putchar('\n'), fclose(f);
}
int main(void) {
    show("/dev/urandom"), show("/dev/random"), show("/dev/zero");
    return 0;
}
