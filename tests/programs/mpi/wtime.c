// MPI's clock, and the values of others: the same in every run.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Wtime MPI_Wtick MPI_Initialized MPI_Finalized MPI_Init_thread
#include "race.h"

int main(int argc, char **argv) {
    int before, provided, after;
    MPI_Initialized(&before);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double start = MPI_Wtime(), others[4];
    dawdle(500);
    double now[1] = {MPI_Wtime() - start};
    MPI_Gather(now, 1, MPI_DOUBLE, others, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (me == 0) printf("%.9f %.9f %.9f %.9f %.9f %d %d\n", start, others[0], others[1], others[2], others[3], before, provided);
    if (me == 0) printf("%d\n", MPI_Wtick() > 0);
    MPI_Finalize();
    MPI_Finalized(&after);
    if (me == 0) printf("%d\n", after);
    return 0;
}
