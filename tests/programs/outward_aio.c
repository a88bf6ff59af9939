// Who waits for a transfer that never ends, or for descriptors that are never ready, is ended by a handler for a signal that
// another thread sends: so it must be again, whenever the signal comes.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: aio_suspend aio_suspend64 epoll_pwait2
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>
static volatile sig_atomic_t hits;
static sem_t waits;
static pthread_t waiter;
static void hit(int number) { hits += number == SIGUSR1; }
static void tell(const char *name, long result) { printf("%s %ld %d after %d\n", name, result, errno, hits); }
static void work(void) { for (volatile int i = 0; i < 3000000; i++) {} }
#define ENDED(call) (errno = 0, sem_post(&waits), work(), tell(#call, (long)(call)))
static void *ends_it(void *unused) {
    for (;;) {
        while (sem_wait(&waits) != 0) {}
        usleep(500000); // no time at all in a replay: the signal is sent while the other still works
        pthread_kill(waiter, SIGUSR1);
    }
    return unused;
}
int main(void) {
    struct sigaction act = {.sa_handler = hit};
    int ends[2], epoll = epoll_create1(0);
    char bytes[8];
    struct aiocb one = {.aio_buf = bytes, .aio_nbytes = 1, .aio_sigevent = {.sigev_notify = SIGEV_NONE}};
    struct aiocb64 other = {.aio_buf = bytes, .aio_nbytes = 1, .aio_sigevent = {.sigev_notify = SIGEV_NONE}};
    const struct aiocb *ones[] = {&one};
    const struct aiocb64 *others[] = {&other};
    struct epoll_event event;
    struct timespec long_time = {100, 0};
    pthread_t thread;
    if (pipe(ends) || sem_init(&waits, 0, 0)) return 1;
    one.aio_fildes = other.aio_fildes = ends[0];
    sigaction(SIGUSR1, &act, NULL);
    waiter = pthread_self();
    if (aio_read(&one) || aio_read64(&other) || pthread_create(&thread, NULL, ends_it, NULL)) return 2;
    ENDED(aio_suspend(ones, 1, NULL)), ENDED(aio_suspend64(others, 1, &long_time));
    ENDED(aio_suspend(ones, 1, &long_time)), ENDED(epoll_pwait2(epoll, &event, 1, &long_time, NULL));
    fflush(stdout);
    _exit(0); // the reads are still under way
}
