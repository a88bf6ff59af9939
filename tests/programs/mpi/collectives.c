// Collectives that do not block: how often each was not done yet.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Test MPI_Waitany
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int round = 0; round < 10; round++) {
        int flag = 0, nothing = 0, index;
        double mine = 1.0 / (me + round + 1), sum = 0, all[8];
        MPI_Request requests[2];
        dawdle(300);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
        for (; !flag; nothing++) MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
        MPI_Igather(&mine, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        int first = index;
        MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
        int mixed = nothing * 4 + first * 2 + index, mixes[8];
        MPI_Gather(&mixed, 1, MPI_INT, mixes, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (me == 0) printf("%d %d %d %d %.17g\n", mixes[0], mixes[1], mixes[2], mixes[3], sum);
    }
    MPI_Finalize();
    return 0;
}
