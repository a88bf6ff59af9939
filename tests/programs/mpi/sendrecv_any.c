// Sends to each in turn while it receives from whoever comes first.
//@ ranks: 5
//@ replay: 20 times, same stdout
//@ covers: MPI_Sendrecv MPI_Sendrecv_replace
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int round = 0; round < 20; round++) {
        int out = me * 100 + round, in = out;
        MPI_Status status;
        if (me == 0) {
            for (int to = 1; to < ranks; to++) {
                if (round % 2) {
                    in = out;
                    MPI_Sendrecv_replace(&in, 1, MPI_INT, to, 1, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &status);
                } else {
                    MPI_Sendrecv(&out, 1, MPI_INT, to, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                                 MPI_COMM_WORLD, &status);
                }
                see(status.MPI_SOURCE, status.MPI_TAG, in);
                printf("%d", status.MPI_SOURCE);
            }
        } else {
            dawdle(200);
            MPI_Sendrecv(&out, 1, MPI_INT, 0, 2, &in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (me == 0) printf(" %lu\n", seen);
    MPI_Finalize();
    return 0;
}
