// A thread is cancelled inside a handler that came into a wait for the outside. What was left to clean up, in the handler and
// in what it interrupted, must be cleaned up again.
//@ flags: -pthread -fexceptions
//@ replay: 20 times, same stdout
//@ covers: pthread_cancel pthread_kill read
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static int outer[2], inner[2];
static sem_t is_inside;
static char cleaned[8];
static int many;
static void clean(void *what) { cleaned[many++] = *(char *)what; }
static void handle(int number) {
    char byte;
    pthread_cleanup_push(clean, "h");
    sem_post(&is_inside);
    if (read(inner[0], &byte, 1) == 1) cleaned[many++] = '0' + number % 10;
    pthread_cleanup_pop(0);
}
static void wait_outside(void) {
    char byte;
    pthread_cleanup_push(clean, "w");
    while (read(outer[0], &byte, 1) != 1) {}
    pthread_cleanup_pop(0);
}
static void *body(void *unused) {
    pthread_cleanup_push(clean, "b");
    sem_post(&is_inside);
    wait_outside();
    pthread_cleanup_pop(0);
    return unused;
}
int main(void) {
    struct sigaction act = {.sa_handler = handle};
    pthread_t thread;
    void *end;
    if (pipe(outer) || pipe(inner) || sem_init(&is_inside, 0, 0)) return 1;
    sigaction(SIGUSR1, &act, NULL);
    pthread_create(&thread, NULL, body, NULL);
    sem_wait(&is_inside);
    usleep(100000);
    pthread_kill(thread, SIGUSR1);
    sem_wait(&is_inside);
    usleep(100000);
    pthread_cancel(thread);
    pthread_join(thread, &end);
    printf("cancelled %d, cleaned up %s\n", end == PTHREAD_CANCELED, cleaned);
    return 0;
}
