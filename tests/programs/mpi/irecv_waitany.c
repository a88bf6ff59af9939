// Several receives from anyone at once; whichever is done first is asked for again.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Irecv MPI_Waitany
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        int values[3], left = (ranks - 1) * 30, posted = 3;
        MPI_Request requests[3];
        for (int i = 0; i < 3; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &requests[i]);
        for (; left > 0; left--) {
            int index;
            MPI_Status status;
            MPI_Waitany(3, requests, &index, left % 2 ? &status : MPI_STATUS_IGNORE);
            see(index, index, values[index]);
            printf("%d:%d ", index, values[index]);
            if (posted++ < (ranks - 1) * 30)
                MPI_Irecv(&values[index], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[index]);
        }
        int index;
        MPI_Waitany(3, requests, &index, MPI_STATUS_IGNORE);
        printf("%d %lu\n", index == MPI_UNDEFINED, seen);
    } else {
        send_all(30);
    }
    MPI_Finalize();
    return 0;
}
