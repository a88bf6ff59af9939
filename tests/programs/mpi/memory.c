// Memory is mapped and given back between messages, not equally often in every run, by two threads. UCX, below MPICH, is
// called at each of these and takes locks: none of that is the program's.
//@ ranks: 3
//@ replay: 20 times, same stdout
//@ only: mpich mpich5
#include "race.h"
#include <pthread.h>
#include <sys/mman.h>
#include <x86intrin.h>

static void map_and_unmap(void) {
    for (unsigned i = __rdtsc() % 40; i > 0; i--) {
        void *memory = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        munmap(memory, 1 << 16);
    }
}

static void *other(void *unused) {
    (void)unused;
    map_and_unmap();
    return NULL;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        for (int i = 0; i < (ranks - 1) * 20; i++) {
            int value;
            MPI_Status status;
            pthread_t thread;
            pthread_create(&thread, NULL, other, NULL);
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            map_and_unmap();
            pthread_join(thread, NULL);
            printf("%d", status.MPI_SOURCE);
        }
        printf("\n");
    } else {
        send_all(20);
    }
    MPI_Finalize();
    return 0;
}
