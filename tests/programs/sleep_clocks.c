// A clock that nobody can sleep by is refused, in a replay too, though sleeps return at once there.
//@ flags: -pthread
//@ replay: 20 times, same stdout
//@ covers: clock_nanosleep
#include "order.h"
#include <time.h>
int main(void) {
    static const clockid_t clocks[] = {CLOCK_REALTIME,      CLOCK_MONOTONIC,       CLOCK_BOOTTIME, CLOCK_THREAD_CPUTIME_ID,
                                       CLOCK_MONOTONIC_RAW, CLOCK_REALTIME_COARSE, CLOCK_TAI,      99999};
    struct timespec nap = {0, 1000}, wrong = {0, 1000000000};
    for (unsigned i = 0; i < sizeof clocks / sizeof *clocks; i++)
        printf("%d %d %d\n", (int)clocks[i], clock_nanosleep(clocks[i], 0, &nap, NULL),
               clock_nanosleep(clocks[i], 0, &wrong, NULL));
    return 0;
}
