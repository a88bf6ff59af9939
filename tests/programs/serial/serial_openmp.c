// What the threads of parallel regions read and write without any lock, around barriers of every kind, must come back.
//@ flags: -O1 -fopenmp
//@ replay: 20 times, same stdout
//@ covers: GOMP_parallel GOMP_barrier GOMP_barrier_cancel GOMP_loop_end GOMP_loop_end_cancel GOMP_sections_end
//@ covers: GOMP_sections_end_cancel GOMP_ordered_start GOMP_taskwait GOMP_taskgroup_end
#include "../order.h"
#include <omp.h>
#include <sched.h>
static volatile unsigned mixed;
static void mix(int with) {
    unsigned before = mixed;
    jitter();
    if (with % 4 == 0) sched_yield();
    mixed = before * 31 + with + 100 * omp_get_thread_num();
}
static void with_cancellation(int round) {
#pragma omp parallel
    {
#pragma omp cancel parallel if (round > 9)
        mix(1);
#pragma omp barrier
        mix(2);
#pragma omp for schedule(dynamic)
        for (int i = 0; i < 6; i++) {
#pragma omp cancel for if (i > 9)
            mix(i);
        }
#pragma omp sections
        {
            {
#pragma omp cancel sections if (round > 9)
                mix(5);
            }
        }
        mix(6);
    }
}
int main(void) {
    omp_set_num_threads(3);
    for (int round = 0; round < 6; round++) {
        with_cancellation(round);
#pragma omp parallel
        {
            mix(1);
#pragma omp barrier
            mix(2);
#pragma omp for schedule(dynamic)
            for (int i = 0; i < 6; i++) mix(i);
#pragma omp sections
            {
                mix(3);
#pragma omp section
                mix(4);
            }
#pragma omp for ordered schedule(dynamic)
            for (int i = 0; i < 6; i++) {
                jitter();
#pragma omp ordered
                mix(i);
            }
#pragma omp taskwait
#pragma omp taskgroup
            mix(6);
#pragma omp parallel num_threads(2)
            mix(7);
        }
    }
    printf("%x\n", mixed);
}
