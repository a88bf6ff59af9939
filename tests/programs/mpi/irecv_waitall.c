// Receives from anyone that are waited for one by one or all together: which of them got which message.
//@ ranks: 5
//@ replay: 20 times, same stdout
//@ covers: MPI_Irecv MPI_Wait MPI_Waitall
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int many = (ranks - 1) * 20, values[200];
    if (me == 0) {
        MPI_Request requests[200];
        MPI_Status statuses[200];
        for (int i = 0; i < many; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
        MPI_Wait(&requests[3], &statuses[3]);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        printf("%d from %d, then %d;", values[3], statuses[3].MPI_SOURCE, values[1]);
        MPI_Waitall(10, requests, statuses);
        for (int i = 4; i < 10; i++) see(statuses[i].MPI_SOURCE, statuses[i].MPI_TAG, values[i]);
        MPI_Waitall(many - 10, requests + 10, MPI_STATUSES_IGNORE);
        for (int i = 0; i < many; i++) see(0, 0, values[i]), printf(" %d", values[i]);
        printf(" %lu\n", seen);
    } else {
        send_all(20);
    }
    MPI_Finalize();
    return 0;
}
