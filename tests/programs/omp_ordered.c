// Who gets which part of a loop that is run in order, or whose rounds wait for each other, must come back.
//@ flags: -fopenmp
//@ replay: 20 times, same stdout
//@ covers: GOMP_loop_ordered_dynamic_start GOMP_loop_ordered_guided_start GOMP_loop_ordered_runtime_start GOMP_loop_ordered_start GOMP_loop_doacross_dynamic_start GOMP_loop_doacross_guided_start GOMP_loop_doacross_runtime_start GOMP_loop_doacross_start
//@ covers: GOMP_loop_ordered_dynamic_next GOMP_loop_ordered_guided_next GOMP_loop_ordered_runtime_next GOMP_loop_ull_ordered_dynamic_next GOMP_loop_ull_ordered_guided_next GOMP_loop_ull_ordered_runtime_next
//@ covers: GOMP_loop_ull_ordered_dynamic_start GOMP_loop_ull_ordered_guided_start GOMP_loop_ull_ordered_runtime_start GOMP_loop_ull_ordered_start GOMP_loop_ull_doacross_dynamic_start GOMP_loop_ull_doacross_guided_start GOMP_loop_ull_doacross_runtime_start GOMP_loop_ull_doacross_start
#include "order.h"
#include <omp.h>
enum { PARTS = 40 };
static unsigned long long parts = PARTS;
static int owner[PARTS];
static void show(const char *name) {
    printf("%s ", name);
    for (int i = 0; i < PARTS; i++) putchar('0' + owner[i]);
    putchar('\n');
}
static void work(int part) { owner[part] = omp_get_thread_num() + 1; }
#define TEXT(...) #__VA_ARGS__
#define PRAGMA(...) _Pragma(TEXT(__VA_ARGS__))
#define LOOP(type, kind, before, after, ...)      \
    PRAGMA(omp parallel num_threads(4))           \
    {                                             \
        jitter();                                 \
        PRAGMA(omp for kind __VA_ARGS__)          \
        for (type i = 1; i < (type)parts; i++) {  \
            jitter();                             \
            before                                \
            work((int)i);                         \
            after                                 \
        }                                         \
    }                                             \
    show(#type " " #kind " " #__VA_ARGS__);
#define ORDERED(type, ...) LOOP(type, ordered, PRAGMA(omp ordered), , __VA_ARGS__)
#define ACROSS(type, ...) \
    LOOP(type, ordered(1), PRAGMA(omp ordered depend(sink : i - 1)), PRAGMA(omp ordered depend(source)), __VA_ARGS__)
#define LOOPS(type, EACH)             \
    EACH(type, schedule(dynamic, 2))  \
    EACH(type, schedule(guided, 2))   \
    EACH(type, schedule(runtime))     \
    EACH(type, schedule(dynamic, 2) reduction(task, + : sum))
int main(void) {
    long sum = 0;
    omp_set_schedule(omp_sched_dynamic, 2);
    LOOPS(long, ORDERED)
    LOOPS(unsigned long long, ORDERED)
    LOOPS(long, ACROSS)
    LOOPS(unsigned long long, ACROSS)
    printf("%ld\n", sum);
    return 0;
}
