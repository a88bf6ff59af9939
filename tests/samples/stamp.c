// A server that stamps what it prints and what it replies with the time, waits for a child of its own, writes a file, and
// dies at its eighth message. What a copy of it plays must stamp the same times.
#include "retake.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    retake_participant *me = retake_init("server");
    if (!me) return 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    FILE *log = fopen("log", "w");
    for (int i = 1;; i++) {
        retake_message message;
        if (retake_receive(me, -1, &message) != 1) return 1;
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        printf("server: %s at %ld.%09ld\n", (const char *)message.contents, (long)now.tv_sec, now.tv_nsec);
        fprintf(log, "%d\n", i);
        fflush(log);
        pid_t child = fork();
        if (child == 0) _exit(i);
        int status;
        // Whoever waits for any child must not meet the library's.
        if (wait(&status) != child || WEXITSTATUS(status) != i) return 2;
        if (message.expects_reply) {
            char reply[100];
            int length = snprintf(reply, sizeof reply, "%ld.%09ld", (long)now.tv_sec, now.tv_nsec);
            retake_reply(me, message.partner, message.id, reply, length);
        }
        retake_message_free(&message);
        if (i == 8) abort();
    }
}
