// The same of loops and sections that are regions by themselves, beside a thread that belongs to none.
//@ flags: -O1 -fopenmp
//@ replay: 20 times, same stdout
//@ covers: GOMP_parallel_reductions GOMP_parallel_sections GOMP_parallel_loop_static GOMP_parallel_loop_dynamic
//@ covers: GOMP_parallel_loop_guided GOMP_parallel_loop_nonmonotonic_dynamic GOMP_parallel_loop_nonmonotonic_guided
//@ covers: GOMP_parallel_loop_runtime GOMP_parallel_loop_nonmonotonic_runtime GOMP_parallel_loop_maybe_nonmonotonic_runtime
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
extern void GOMP_parallel_loop_static(void (*)(void *), void *, unsigned, long, long, long, long, unsigned);
extern _Bool GOMP_loop_static_next(long *, long *);
extern void GOMP_loop_end_nowait(void);
static void in_loop(void *unused) {
    long i, end;
    (void)unused;
    while (GOMP_loop_static_next(&i, &end))
        for (; i < end; i++) mix((int)i);
    GOMP_loop_end_nowait();
}
static void *in_another(void *unused) { return mix(1), unused; }
int main(void) {
    int sum = 0;
    omp_set_num_threads(3);
    omp_set_schedule(omp_sched_dynamic, 1);
    for (int round = 0; round < 6; round++) {
        pthread_t thread;
        pthread_create(&thread, NULL, in_another, NULL);
        GOMP_parallel_loop_static(in_loop, NULL, 3, 0, 6, 1, 1, 0);
#pragma omp parallel for schedule(monotonic : dynamic)
        for (int i = 0; i < 6; i++) mix(i);
#pragma omp parallel for schedule(monotonic : guided)
        for (int i = 0; i < 6; i++) mix(i);
#pragma omp parallel for schedule(dynamic)
        for (int i = 0; i < 6; i++) mix(i);
#pragma omp parallel for schedule(guided)
        for (int i = 0; i < 6; i++) mix(i);
#pragma omp parallel for schedule(runtime)
        for (int i = 0; i < 6; i++) mix(i);
#pragma omp parallel for schedule(monotonic : runtime)
        for (int i = 0; i < 6; i++) mix(i);
#pragma omp parallel for schedule(nonmonotonic : runtime)
        for (int i = 0; i < 6; i++) mix(i);
#pragma omp parallel sections
        {
            mix(8);
#pragma omp section
            mix(9);
        }
#pragma omp parallel reduction(task, + : sum)
        sum += 1, mix(10);
        pthread_join(thread, NULL);
    }
    printf("%x %d\n", mixed, sum);
}
