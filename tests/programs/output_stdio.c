// Threads print without any lock of their own; the order of what stands in standard output must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: printf puts putchar fputs fputc fwrite fprintf fflush vprintf
#include "order.h"
#include <stdarg.h>
static void say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vprintf(format, list);
    va_end(list);
}
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 40; i++) {
        jitter();
        switch (i % 8) {
        case 0: printf("<%d %d>", id, i); break;
        case 1: puts("line"); break;
        case 2: putchar('0' + id); break;
        case 3: fputs("text", stdout); break;
        case 4: fputc('a' + id, stdout); break;
        case 5: fwrite(&"123456"[id], 1, 1, stdout); break;
        case 6: fprintf(stdout, "[%d]", id); break;
        case 7: say("{%d}", id); break;
        }
        if (i % 16 == 0) fflush(stdout);
    }
    return NULL;
}
int main(void) {
    run_threads(4, body);
    putchar('\n');
    return 0;
}
