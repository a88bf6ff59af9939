// Several processes write to one standard output, each in its own way: whose line came first must come again.
//@ flags: -O1
//@ replay: 20 times, same stdout
//@ covers: write writev dprintf printf puts fputs fflush fclose dup2 dup3 close
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
static void line(int who, int k) {
    char text[32];
    int length = snprintf(text, sizeof text, "child %d, line %d\n", who, k);
    struct iovec part = {text, length};
    switch ((who + k) % 5) {
    case 0: printf("%s", text), fflush(stdout); break;
    case 1: if (write(1, text, length) != length) _exit(1); break;
    case 2: if (writev(1, &part, 1) != length) _exit(1); break;
    case 3: dprintf(1, "%s", text); break;
    default: fputs(text, stdout); // is seen when the stream is emptied
    }
    fflush(stdout);
}
int main(void) {
    for (int who = 0; who < 4; who++) {
        if (fork() == 0) {
            for (int k = 0; k < 20; k++) line(who, k), usleep((who * 71 + k * 43) % 200);
            int kept = dup(1), other = open("/dev/null", O_WRONLY);
            dup2(other, 1), line(who, 20), who % 2 ? dup2(kept, 1) : dup3(kept, 1, 0), close(other), line(who, 21);
            printf("child %d at its end\n", who);
            if (who % 2) fclose(stdout);
            exit(0);
        }
        puts("made"), fflush(stdout);
    }
    FILE *other = popen("for i in 1 2 3 4 5; do echo shell $i; sleep 0.001; done", "w");
    for (int i = 0; i < 4; i++) wait(NULL), puts("one has ended"), fflush(stdout);
    return other ? pclose(other) : 1;
}
