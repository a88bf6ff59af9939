// OpenMP locks, plain and nested; the order, the depths and which tests failed must come back.
//@ flags: -fopenmp
//@ replay: 20 times, same stdout
//@ covers: omp_init_lock omp_set_lock omp_unset_lock omp_test_lock omp_destroy_lock omp_init_nest_lock omp_set_nest_lock omp_unset_nest_lock omp_test_nest_lock omp_destroy_nest_lock
#include "order.h"
#include <omp.h>
static omp_lock_t lock;
static omp_nest_lock_t nest;
static unsigned outcomes[4], hash;
int main(void) {
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(4)
    {
        int id = omp_get_thread_num();
        for (int i = 0; i < 60; i++) {
            jitter();
            int got = i % 3 ? 1 : omp_test_lock(&lock);
            if (i % 3) omp_set_lock(&lock);
            outcomes[id] = outcomes[id] * 31 + (unsigned)got;
            if (got) {
                note(id + 1);
                jitter();
                omp_unset_lock(&lock);
            }
            int depth = i % 2 ? 1 : omp_test_nest_lock(&nest);
            if (i % 2) omp_set_nest_lock(&nest);
            if (depth) {
                outcomes[id] += (unsigned)omp_test_nest_lock(&nest);
                omp_set_nest_lock(&nest);
                hash = hash * 31 + (unsigned)id;
                omp_unset_nest_lock(&nest);
                omp_unset_nest_lock(&nest);
                omp_unset_nest_lock(&nest);
            }
        }
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
    printf("%08x ", hash);
    for (int i = 0; i < 4; i++) printf("%08x ", outcomes[i]);
    print_order();
    return 0;
}
