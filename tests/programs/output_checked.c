// Threads print through the names that a checking compiler and old programs use; the order in standard output must return.
//@ flags: -pthread -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
//@ replay: 20 times, same stdout
//@ covers: __printf_chk __fprintf_chk __vprintf_chk __vfprintf_chk vfprintf putc _IO_putc
#include "order.h"
#include <stdarg.h>
#include <stdlib.h>
int _IO_putc(int, FILE *), __vprintf_chk(int, const char *, va_list);
extern __typeof(vfprintf) plain __asm__("vfprintf"); // past the checks
static void say(int kind, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (kind == 0) __vprintf_chk(1, format, list);
    if (kind == 1) vfprintf(stdout, format, list);
    if (kind == 2) plain(stdout, format, list);
    va_end(list);
}
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 42; i++) {
        jitter();
        switch (i % 7) {
        case 0: printf("<%d %d>", id, i); break;
        case 1: fprintf(stdout, "[%d]", id); break;
        case 2: say(0, "{%d}", id); break;
        case 3: say(1, "(%d)", id); break;
        case 4: say(2, "/%d/", id); break;
        case 5: putc('0' + id, stdout); break;
        case 6: _IO_putc('a' + id, stdout); break;
        }
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    putchar('\n');
    return 0;
}
