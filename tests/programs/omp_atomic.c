// OpenMP atomics too wide for the processor go through libgomp's lock; the sum, whose rounding shows the order, must return.
//@ flags: -fopenmp
//@ replay: 20 times, same stdout
//@ covers: GOMP_atomic_start GOMP_atomic_end
#include "order.h"
#include <omp.h>
static long double sum;
int main(void) {
#pragma omp parallel num_threads(4)
    {
        long double mine = 1 + omp_get_thread_num();
        for (int i = 0; i < 200; i++) {
            if (i % 4 == 0) jitter();
#pragma omp atomic
            sum += mine / 3;
#pragma omp atomic
            sum /= 1.0000001L + mine / 7;
        }
    }
    printf("%.18Lg\n", sum);
    return 0;
}
