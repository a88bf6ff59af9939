// Two threads deadlock for certain; a watchdog process kills them. Where each of them hung is known beforehand.
//@ flags: -pthread -fno-inline
//@ replay: 20 times, same stdout
//@ covers: sem_wait sem_post pthread_mutex_lock fork kill
//@ ends: 137
#include "apart.h"
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

static pthread_mutex_t fork_left = PTHREAD_MUTEX_INITIALIZER, fork_right = PTHREAD_MUTEX_INITIALIZER;
static sem_t has_left, has_right;
static int alarm_bell[2];

static void eat(pthread_mutex_t *first, sem_t *mine, sem_t *others, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    sem_post(mine);
    sem_wait(others);
    if (write(alarm_bell[1], "x", 1) != 1) return;
    pthread_mutex_lock(second);
}

static void *kant(void *unused) {
    eat(&fork_left, &has_left, &has_right, &fork_right);
    return unused;
}

static void *hume(void *unused) {
    eat(&fork_right, &has_right, &has_left, &fork_left);
    return unused;
}

int main(void) {
    pthread_t threads[2];
    char bell[2];
    if (pipe(alarm_bell) != 0) return 1;
    if (fork() == 0) {
        for (int i = 0; i < 2; i++)
            if (read(alarm_bell[0], &bell[i], 1) != 1) return 1;
        until_it_hangs((int)syscall(SYS_getppid));
        kill(getppid(), SIGKILL);
        _exit(0);
    }
    sem_init(&has_left, 0, 0);
    sem_init(&has_right, 0, 0);
    pthread_create(&threads[0], NULL, kant, NULL);
    pthread_create(&threads[1], NULL, hume, NULL);
    pthread_join(threads[0], NULL);
    return 0;
}
