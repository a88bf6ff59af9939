// What programs started by popen said, and how they ended, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: popen pclose
#include "order.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *id) {
    for (int i = 0; i < 20; i++) {
        jitter();
        pthread_mutex_lock(&lock);
        note((int)(long)id);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(int argc, char **argv) {
    static char path[4096], command[5000], line[512];
    (void)argv;
    run_threads(2, body);
    if (argc > 1) {
        print_order();
        return (int)(order_hash() % 251);
    }
    if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return 1;
    snprintf(command, sizeof command, "'%s' child", path);
    for (int i = 0; i < 3; i++) {
        FILE *pipe = popen(command, "r");
        while (fgets(line, sizeof line, pipe)) fputs(line, stdout);
        printf("ended %d\n", WEXITSTATUS(pclose(pipe)));
    }
    fflush(stdout);
    FILE *pipe = popen("cat", "w");
    fputs("to cat\n", pipe);
    printf("cat ended %d ", pclose(pipe));
    print_order();
    return 0;
}
