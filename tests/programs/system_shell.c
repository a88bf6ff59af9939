// system() runs a shell that runs this program again; its order, seen in its status, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: system
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
    static char path[4096], command[9000];
    (void)argv;
    run_threads(2, body);
    if (argc > 1) return (int)(order_hash() % 251);
    if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0) return 1;
    snprintf(command, sizeof command, "'%s' child; first=$?; '%s' child; echo $first $?; exit 9", path, path);
    for (int i = 0; i < 3; i++) {
        int status = system(command);
        printf("%d %d\n", WIFEXITED(status), WEXITSTATUS(status));
        fflush(stdout);
    }
    printf("shell %d ", system(NULL) != 0);
    print_order();
    return 0;
}
