// Signals interrupt sleeps; how often, and how much was left, must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: nanosleep clock_nanosleep usleep setitimer sigaction
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static void hit(int signal) { (void)signal; }
int main(void) {
    struct sigaction action = {.sa_handler = hit};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 700}, {0, 700}}, NULL);
    for (int i = 0; i < 8; i++) {
        struct timespec left = {0, 2000000}, want;
        int interrupted = 0, error;
        do {
            want = left;
            error = i % 2 ? clock_nanosleep(CLOCK_MONOTONIC, 0, &want, &left)
                          : (nanosleep(&want, &left) ? errno : 0);
            if (error == EINTR) printf("%ld ", left.tv_nsec), interrupted++;
        } while (error == EINTR);
        printf("interrupted %d\n", interrupted);
    }
    int short_sleeps = 0;
    for (int i = 0; i < 10; i++) short_sleeps += usleep(200) != 0;
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    printf("short %d\n", short_sleeps);
    return 0;
}
