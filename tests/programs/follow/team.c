// A team of OpenMP's: its barriers are futexes that Retake does not see. Whoever comes first to the section writes its name.
//@ flags: -fopenmp
#include <omp.h>
#include <stdio.h>

int main(void) {
    for (int round = 0; round < 3; round++) {
#pragma omp parallel num_threads(3)
        {
#pragma omp critical
            printf("%d\n", omp_get_thread_num());
        }
    }
    return 0;
}
