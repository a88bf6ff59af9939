// Who gets which part of a loop, which section, and what is single, must come back.
//@ flags: -fopenmp
//@ replay: 20 times, same stdout
//@ covers: GOMP_loop_dynamic_start GOMP_loop_dynamic_next GOMP_loop_guided_start GOMP_loop_guided_next GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_nonmonotonic_dynamic_next GOMP_loop_nonmonotonic_guided_start GOMP_loop_nonmonotonic_guided_next GOMP_loop_runtime_start GOMP_loop_runtime_next GOMP_loop_nonmonotonic_runtime_start GOMP_loop_nonmonotonic_runtime_next GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_maybe_nonmonotonic_runtime_next GOMP_loop_start
//@ covers: GOMP_loop_ull_dynamic_start GOMP_loop_ull_dynamic_next GOMP_loop_ull_guided_start GOMP_loop_ull_guided_next GOMP_loop_ull_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_next GOMP_loop_ull_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_next GOMP_loop_ull_runtime_start GOMP_loop_ull_runtime_next GOMP_loop_ull_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_next GOMP_loop_ull_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_next GOMP_loop_ull_start
//@ covers: GOMP_single_start GOMP_sections_start GOMP_sections2_start GOMP_sections_next
#include "order.h"
#include <omp.h>
enum { PARTS = 60 };
static int owner[PARTS];
static unsigned long long parts = PARTS;
static void show(const char *name) {
    printf("%s ", name);
    for (int i = 0; i < PARTS; i++) {
        putchar('0' + owner[i]);
        owner[i] = 0;
    }
    putchar('\n');
}
static void work(int part) {
    jitter();
    owner[part] = omp_get_thread_num() + 1;
}
#define TEXT(...) #__VA_ARGS__
#define PRAGMA(...) _Pragma(TEXT(__VA_ARGS__))
#define LOOP(type, ...)                           \
    PRAGMA(omp parallel num_threads(4))           \
    {                                             \
        jitter();                                 \
        PRAGMA(omp for __VA_ARGS__)               \
        for (type i = 0; i < (type)parts; i++) work((int)i); \
    }                                             \
    show(#type " " #__VA_ARGS__);
#define LOOPS(type)                               \
    LOOP(type, schedule(dynamic, 2))              \
    LOOP(type, schedule(guided, 2))               \
    LOOP(type, schedule(monotonic : dynamic, 2))  \
    LOOP(type, schedule(monotonic : guided, 2))   \
    LOOP(type, schedule(runtime))                 \
    LOOP(type, schedule(monotonic : runtime))     \
    LOOP(type, schedule(nonmonotonic : runtime))  \
    LOOP(type, schedule(dynamic, 2) reduction(task, + : sum))
int main(void) {
    long sum = 0;
    omp_set_schedule(omp_sched_dynamic, 2);
    LOOPS(long)
    LOOPS(unsigned long long)
#pragma omp parallel for num_threads(4) schedule(dynamic)
    for (int i = 0; i < PARTS; i++) {
        work(i);
#pragma omp critical
        note(i);
    }
    show("whole");
#pragma omp parallel num_threads(4)
    for (int i = 0; i < PARTS; i++) {
        jitter();
#pragma omp single nowait
        work(i);
    }
    show("single");
#pragma omp parallel num_threads(4)
    for (int i = 0; i < PARTS; i += 6) {
#pragma omp sections
        {
#pragma omp section
            work(i);
#pragma omp section
            work(i + 1);
#pragma omp section
            work(i + 2);
        }
#pragma omp sections reduction(task, + : sum)
        {
#pragma omp section
            work(i + 3);
#pragma omp section
            work(i + 4);
#pragma omp section
            work(i + 5);
        }
    }
    show("sections");
    printf("%ld ", sum);
    print_order();
    return 0;
}
