// What every clock said must come back.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: clock_gettime gettimeofday time clock times timespec_get clock_getres
#include <stdio.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
int main(void) {
    static const clockid_t kinds[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID,
                                      CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_MONOTONIC_COARSE, CLOCK_BOOTTIME,
                                      CLOCK_TAI, CLOCK_REALTIME_ALARM, CLOCK_BOOTTIME_ALARM};
    for (int round = 0; round < 20; round++) {
        struct timespec at;
        for (unsigned i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            int error = clock_gettime(kinds[i], &at);
            printf("%d:%d:%lld.%09ld ", (int)kinds[i], error, (long long)at.tv_sec, at.tv_nsec);
        }
        struct timeval day;
        struct tms tms;
        gettimeofday(&day, NULL);
        printf("day %lld.%06ld ", (long long)day.tv_sec, (long)day.tv_usec);
        printf("get %d %ld ", timespec_get(&at, TIME_UTC), at.tv_nsec);
        time_t now, also = time(&now);
        printf("time %lld %d ", (long long)now, now == also);
        printf("clock %ld ", (long)clock());
        long ticks = (long)times(&tms);
        printf("times %ld %ld %ld\n", ticks, (long)tms.tms_utime, (long)tms.tms_stime);
    }
    printf("%d\n", clock_gettime((clockid_t)9999, &(struct timespec){0, 0}));
    return 0;
}
