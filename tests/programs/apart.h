// Threads in an order that nothing enforces but what Retake does not see: a plain counter, and a look at who sleeps.
//
// So a fixture can say "some time later" without a time: what comes later is not kept from coming first by any lock.
#ifndef APART_H
#define APART_H
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int apart_passed;

static inline void pass(void) { __atomic_add_fetch(&apart_passed, 1, __ATOMIC_SEQ_CST); }

// Waits until so many have passed.
static inline void after(int many) {
    while (__atomic_load_n(&apart_passed, __ATOMIC_SEQ_CST) < many) usleep(1000);
}

// Whether all threads of the process sleep in the kernel, but for the calling one.
static inline int is_asleep(int pid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    if (threads == NULL) return 1; // gone
    int asleep = 1;
    for (struct dirent *thread; asleep && (thread = readdir(threads)) != NULL;) {
        long tid = atol(thread->d_name);
        if (tid == 0 || tid == syscall(SYS_gettid)) continue;
        snprintf(path, sizeof path, "/proc/%d/task/%ld/stat", pid, tid);
        int file = open(path, O_RDONLY);
        if (file < 0) continue;
        long length = read(file, text, sizeof text - 1);
        close(file);
        text[length > 0 ? length : 0] = 0;
        char *name_end = strrchr(text, ')');
        asleep = name_end != NULL && name_end[1] != 0 && name_end[2] == 'S';
    }
    closedir(threads);
    return asleep;
}

// Waits until the process hangs: nobody in it has run for so many looks. The id is the present one, from the kernel.
static inline void until_it_hangs(int pid) {
    for (int looks = 0; looks < 10; looks = is_asleep(pid) ? looks + 1 : 0) usleep(10000);
}
#endif
