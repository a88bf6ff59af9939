/* Functions whose arguments vary in number. Rust cannot define these; each gathers its arguments and calls back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#define HIDDEN __attribute__((visibility("hidden")))

extern int retake_vfprintf(FILE *f, int flag, const char *format, va_list a);
extern int retake_vdprintf(int fd, int flag, const char *format, va_list a);
extern int retake_execve(const char *path, char *const argv[], char *const envp[], int search);

#define GATHERED(by, to, flag)                          \
    va_list a;                                          \
    va_start(a, format);                                \
    int result = by(to, flag, format, a);               \
    va_end(a);                                          \
    return result;
#define FORMATTED(f, flag) GATHERED(retake_vfprintf, f, flag)

/* A negative flag means the form without checks. */
HIDDEN int retake_printf(const char *format, ...) { FORMATTED(stdout, -1) }
HIDDEN int retake_fprintf(FILE *f, const char *format, ...) { FORMATTED(f, -1) }
HIDDEN int retake_printf_chk(int flag, const char *format, ...) { FORMATTED(stdout, flag) }
HIDDEN int retake_fprintf_chk(FILE *f, int flag, const char *format, ...) { FORMATTED(f, flag) }
HIDDEN int retake_dprintf(int fd, const char *format, ...) { GATHERED(retake_vdprintf, fd, -1) }
HIDDEN int retake_dprintf_chk(int fd, int flag, const char *format, ...) { GATHERED(retake_vdprintf, fd, flag) }

#define LISTED(search, with_environment)                                        \
    va_list a;                                                                  \
    size_t count = 1;                                                           \
    va_start(a, arg);                                                           \
    while (va_arg(a, char *))                                                   \
        count++;                                                                \
    va_end(a);                                                                  \
    char *argv[count + 1];                                                      \
    va_start(a, arg);                                                           \
    argv[0] = (char *)arg;                                                      \
    for (size_t i = 1; i <= count; i++)                                         \
        argv[i] = va_arg(a, char *);                                            \
    char **envp = with_environment ? va_arg(a, char **) : NULL;                 \
    va_end(a);                                                                  \
    return retake_execve(path, argv, envp, search);

HIDDEN int retake_execl(const char *path, const char *arg, ...) { LISTED(0, 0) }
HIDDEN int retake_execlp(const char *path, const char *arg, ...) { LISTED(1, 0) }
HIDDEN int retake_execle(const char *path, const char *arg, ...) { LISTED(0, 1) }
