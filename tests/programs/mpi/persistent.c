// Receives from anyone that are started again and again: what each start got.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Recv_init MPI_Start MPI_Startall MPI_Request_free
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (me == 0) {
        int values[3];
        MPI_Request requests[3];
        for (int i = 0; i < 3; i++)
            MPI_Recv_init(&values[i], 1, MPI_INT, i == 2 ? 1 : MPI_ANY_SOURCE, i == 2 ? 9 : MPI_ANY_TAG,
                          i == 2 ? other : MPI_COMM_WORLD, &requests[i]);
        MPI_Startall(3, requests);
        for (int i = 0; i < (ranks - 1) * 20 - 1; i++) {
            int index;
            MPI_Status status;
            MPI_Waitany(2, requests, &index, &status);
            see(status.MPI_SOURCE, index, values[index]);
            printf("%d:%d ", index, values[index]);
            if (i < (ranks - 1) * 20 - 2) MPI_Start(&requests[index]);
        }
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
        for (int i = 0; i < 3; i++) MPI_Request_free(&requests[i]);
        printf("%d %d %d %lu\n", values[0], values[1], values[2], seen);
    } else {
        send_all(20);
        if (me == 1) MPI_Send(&me, 1, MPI_INT, 0, 9, other);
    }
    MPI_Finalize();
    return 0;
}
