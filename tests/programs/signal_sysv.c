// Handlers set by System V's and BSD's own calls, and calls that they end; what each saw must come back.
//@ flags: -pthread -D_GNU_SOURCE
//@ replay: 20 times, same stdout
//@ covers: sigset bsd_signal ssignal siginterrupt signal sem_post sem_wait sem_trywait pthread_kill
#include "order.h"
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
extern __sighandler_t bsd_signal(int, __sighandler_t);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t never, hits;
static int ended[4];
static void hit(int number) {
    (void)number;
    sem_post(&hits);
}
static void *body(void *arg) {
    int id = (int)(long)arg;
    for (int i = 0; i < 20; i++) {
        if (sem_wait(&never) != 0 && errno == EINTR) ended[id]++;
        pthread_mutex_lock(&lock);
        note(id);
        while (sem_trywait(&hits) == 0) note(id + 10);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    pthread_t threads[3];
    sem_init(&never, 0, 0);
    sem_init(&hits, 0, 0);
    int same = bsd_signal(SIGUSR1, hit) == SIG_DFL && ssignal(SIGUSR1, hit) == hit;
    same += sigset(SIGUSR2, hit) == SIG_DFL && sigset(SIGUSR2, hit) == hit;
    same += siginterrupt(SIGUSR1, 1) == 0 && signal(SIGUSR1, hit) == hit;
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, body, (void *)(i + 1));
    for (int i = 0; i < 60; i++) {
        jitter();
        if (i % 3 == 0) pthread_kill(threads[i / 3 % 3], i % 2 ? SIGUSR1 : SIGUSR2);
        else sem_post(&never);
    }
    for (int i = 0; i < 60; i++) sem_post(&never);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    printf("%d %d %d %d ", same, ended[1], ended[2], ended[3]);
    print_order();
    return 0;
}
