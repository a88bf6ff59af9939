// Who waits for a lock of a file, or for another process's queue or semaphore, is ended by a handler: so it must be again.
//@ flags: -O1
//@ replay: 20 times, same stdout
//@ covers: flock lockf lockf64 fcntl fcntl64 mq_receive mq_timedreceive msgrcv semop semtimedop
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
int fcntl64(int, int, ...);
static volatile sig_atomic_t hits;
static void hit(int number) { hits += number == SIGALRM; }
static void tell(const char *name, long result) { printf("%s %ld %d after %d\n", name, result, errno, hits); }
#define ENDED(call) (errno = 0, tell(#call, (long)(call)))
int main(void) {
    struct sigaction act = {.sa_handler = hit};
    struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    struct flock whole = {.l_type = F_WRLCK};
    struct sembuf less = {0, -1, 0};
    struct timespec late = {4000000000, 0}, hour = {3600, 0};
    struct { long kind; char text[64]; } message;
    char name[] = "lock-XXXXXX", queue[64];
    int fd = mkstemp(name), other = open(name, O_RDWR), ready[2], done[2];
    if (other < 0 || pipe(ready) || pipe(done) || flock(other, LOCK_EX)) return 1;
    pid_t child = fork();
    if (child == 0) { // holds the lock until it is told
        char byte;
        if (fcntl(fd, F_SETLKW, &whole) || write(ready[1], "x", 1) != 1 || read(done[0], &byte, 1) != 1) _exit(1);
        _exit(0);
    }
    if (read(ready[0], queue, 1) != 1) return 1;
    snprintf(queue, sizeof queue, "/retake-outward-%d", (int)getppid());
    mqd_t mq = mq_open(queue, O_RDWR | O_CREAT, 0600, &(struct mq_attr){.mq_maxmsg = 1, .mq_msgsize = 64});
    int msg = msgget(IPC_PRIVATE, 0600), sem = semget(IPC_PRIVATE, 1, 0600);
    sigaction(SIGALRM, &act, NULL), setitimer(ITIMER_REAL, &often, NULL);
    ENDED(flock(fd, LOCK_EX)), ENDED(lockf(fd, F_LOCK, 0)), ENDED(lockf64(fd, F_LOCK, 0));
    ENDED(fcntl(fd, F_SETLKW, &whole)), ENDED(fcntl64(fd, F_SETLKW, &whole)), ENDED(fcntl(fd, F_SETLK, &whole));
    ENDED(mq_receive(mq, message.text, 64, NULL)), ENDED(mq_timedreceive(mq, message.text, 64, NULL, &late));
    ENDED(msgrcv(msg, &message, 64, 0, 0)), ENDED(semop(sem, &less, 1)), ENDED(semtimedop(sem, &less, 1, &hour));
    setitimer(ITIMER_REAL, &never, NULL);
    if (write(done[1], "x", 1) != 1) return 1;
    waitpid(child, NULL, 0);
    return unlink(name) | mq_unlink(queue) | msgctl(msg, IPC_RMID, NULL) | semctl(sem, 0, IPC_RMID);
}
