// Whoever comes third is the one for whom the job is given up; that one must be it again, with the same status.
//@ ranks: 5
//@ replay: 20 times, same stdout
//@ covers: MPI_Abort
//@ ends: 7
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 0;
    if (me == 0) {
        for (int i = 0; i < 3; i++) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("%d ", value);
        }
        printf("gives up\n");
        fflush(stdout);
        // A launcher that is told to give up does not read on.
        struct timespec time = {0, 200000000};
        syscall(SYS_nanosleep, &time, 0);
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    dawdle(1000);
    MPI_Send(&me, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
