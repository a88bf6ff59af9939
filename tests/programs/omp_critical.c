// OpenMP critical sections, with and without a name; the order in each must come back.
//@ flags: -fopenmp
//@ replay: 20 times, same stdout
//@ covers: GOMP_critical_start GOMP_critical_end GOMP_critical_name_start GOMP_critical_name_end
#include "order.h"
#include <omp.h>
static unsigned hash;
int main(void) {
#pragma omp parallel num_threads(4)
    {
        int id = omp_get_thread_num() + 1;
        for (int i = 0; i < 60; i++) {
            jitter();
#pragma omp critical
            note(id);
            if (i % 2) jitter();
#pragma omp critical(other)
            hash = hash * 31 + (unsigned)id;
        }
    }
    printf("%08x ", hash);
    print_order();
    return 0;
}
