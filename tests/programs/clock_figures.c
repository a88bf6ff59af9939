// Time that was used, time that is left, and load: figures of the kernel's that are others in each run must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: getrusage getitimer setitimer alarm ualarm select timer_gettime timer_settime timer_getoverrun timerfd_gettime timerfd_settime ntp_gettime ntp_gettimex adjtimex ntp_adjtime clock_adjtime sysinfo getloadavg
#include "order.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>
static void show(const char *name, const void *figures, size_t length) {
    unsigned hash = 2166136261u;
    for (size_t i = 0; i < length; i++) hash = (hash ^ ((const unsigned char *)figures)[i]) * 16777619u;
    printf("%s %08x\n", name, hash);
}
int main(void) {
    struct itimerval hour = {.it_value = {3600, 0}}, left;
    struct itimerspec long_time = {.it_value = {3600, 0}}, rest;
    struct sigevent none = {.sigev_notify = SIGEV_NONE};
    struct timeval wait = {3600, 0};
    struct rusage used;
    struct ntptimeval ntp;
    struct timex state;
    struct sysinfo info;
    double loads[3];
    timer_t timer;
    fd_set ready;
    int ends[2], descriptor = timerfd_create(CLOCK_MONOTONIC, 0);
    if (pipe(ends) != 0 || write(ends[1], "x", 1) != 1 || timer_create(CLOCK_MONOTONIC, &none, &timer) != 0) return 1;
    setitimer(ITIMER_REAL, &hour, NULL);
    timer_settime(timer, 0, &long_time, NULL);
    timerfd_settime(descriptor, 0, &long_time, NULL);
    for (int i = 0; i < 5; i++) jitter();
    FD_ZERO(&ready);
    FD_SET(ends[0], &ready);
    printf("ready %d\n", select(ends[0] + 1, &ready, NULL, NULL, &wait));
    show("select", &wait, sizeof wait);
    getitimer(ITIMER_REAL, &left);
    show("getitimer", &left, sizeof left);
    setitimer(ITIMER_REAL, &hour, &left);
    show("setitimer", &left, sizeof left);
    printf("ualarm %u, alarm %u\n", ualarm(500000, 0), alarm(0));
    timer_gettime(timer, &rest);
    show("timer_gettime", &rest, sizeof rest);
    timer_settime(timer, 0, &long_time, &rest);
    show("timer_settime", &rest, sizeof rest);
    printf("timer_getoverrun %d\n", timer_getoverrun(timer));
    timerfd_gettime(descriptor, &rest);
    show("timerfd_gettime", &rest, sizeof rest);
    timerfd_settime(descriptor, 0, &long_time, &rest);
    show("timerfd_settime", &rest, sizeof rest);
    for (int i = 0; i < 50; i++) jitter();
    getrusage(RUSAGE_SELF, &used);
    show("getrusage", &used, sizeof used);
    memset(&ntp, 0, sizeof ntp);
    ntp_gettime(&ntp);
    show("ntp_gettime", &ntp.time, sizeof ntp.time);
    ntp_gettimex(&ntp);
    show("ntp_gettimex", &ntp.time, sizeof ntp.time);
    memset(&state, 0, sizeof state);
    adjtimex(&state);
    show("adjtimex", &state.time, sizeof state.time);
    ntp_adjtime(&state);
    show("ntp_adjtime", &state.time, sizeof state.time);
    clock_adjtime(CLOCK_REALTIME, &state);
    show("clock_adjtime", &state.time, sizeof state.time);
    sysinfo(&info);
    show("sysinfo", &info, sizeof info);
    if (getloadavg(loads, 3) == 3) show("getloadavg", loads, sizeof loads);
    return 0;
}
