// A timer's signal every 50 us, whose handler locks, too, while threads lock; what each section saw must come back.
//@ flags: -pthread
#include "../order.h"
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
enum { ROUNDS = 20000 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t ticks;
static long total;
static unsigned order = 2166136261u;
static void tick(int number) {
    (void)number;
    sem_post(&ticks);
}
static void *body(void *id) {
    for (int i = 0; i < ROUNDS; i++) {
        int ticked = sem_trywait(&ticks) == 0;
        pthread_mutex_lock(&lock);
        total++;
        order = (order ^ (unsigned)(long)id ^ (unsigned)ticked << 8) * 16777619u;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}
int main(void) {
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 50}, {0, 50}};
    sem_init(&ticks, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    run_threads(3, body);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    printf("total %ld\norder %08x\n", total, order);
    return 0;
}
