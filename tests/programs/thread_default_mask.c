// Threads begin with the mask of the default attributes, of their own, or their creator's; one made by a cancelled one, too.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: pthread_setattr_default_np
#include "order.h"
#include <signal.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>
static pthread_t heir;
static int wrong;
static void *shown(void *expected) {
    char text[256] = "";
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    for (int number = 1; number <= 64; number++)
        if (sigismember(&now, number) == 1) sprintf(text + strlen(text), "%d ", number);
    wrong += strcmp(text, expected) != 0;
    return puts(text), NULL;
}
static int shown_c11(void *expected) { return shown(expected) != NULL; }
static void *sleeps(void *expected) {
    for (shown(expected);;) pause();
    return NULL;
}
static void leaves(void *expected) { pthread_create(&heir, NULL, sleeps, expected); }
static void *dies(void *expected) {
    pthread_cleanup_push(leaves, expected);
    for (;;) pause();
    pthread_cleanup_pop(0);
}
static void run(const pthread_attr_t *attributes, char *expected) {
    pthread_t thread;
    pthread_create(&thread, attributes, shown, expected);
    pthread_join(thread, NULL);
}
int main(void) {
    pthread_t thread, c11;
    pthread_attr_t attributes;
    sigset_t own = {0};
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &own, NULL);
    run(NULL, "10 ");
    pthread_attr_init(&attributes);
    sigaddset(&own, SIGUSR2);
    pthread_attr_setsigmask_np(&attributes, &own);
    run(&attributes, "10 12 ");
    pthread_create(&thread, NULL, dies, "10 ");
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    usleep(20000);
    pthread_cancel(heir);
    pthread_join(heir, NULL); // asleep, it can be cancelled, too
    pthread_setattr_default_np(&attributes);
    run(NULL, "10 12 ");
    thrd_create(&c11, shown_c11, "10 12 ");
    thrd_join(c11, NULL);
    return wrong;
}
