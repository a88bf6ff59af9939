// Threads write to standard output past the streams, formatted and in parts; the order must come back.
//@ flags: -pthread -O2 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
//@ replay: 20 times, same stdout
//@ covers: writev dprintf vdprintf __dprintf_chk __vdprintf_chk
#include "order.h"
#include <stdarg.h>
#include <sys/uio.h>
extern __typeof(dprintf) plain __asm__("dprintf"); // past the checks
extern __typeof(vdprintf) plain_list __asm__("vdprintf");
static void say(int checked, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (checked) vdprintf(1, format, list);
    if (!checked) plain_list(1, format, list);
    va_end(list);
}
static void *body(void *arg) {
    int id = (int)(long)arg;
    char digit = (char)('0' + id);
    struct iovec parts[3] = {{"<", 1}, {&digit, 1}, {">", 1}};
    for (int i = 0; i < 40; i++) {
        jitter();
        switch (i % 5) {
        case 0: dprintf(1, "[%d]", id); break;
        case 1: plain(1, "(%d)", id); break;
        case 2: say(1, "{%d}", id); break;
        case 3: say(0, "/%d/", id); break;
        case 4:
            if (writev(1, parts, 3) != 3) return arg;
            break;
        }
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    return 0;
}
