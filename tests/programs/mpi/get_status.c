// Looking at a request without freeing it: how often it was not done, and whose message it then showed.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Request_get_status
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        for (int i = 0; i < (ranks - 1) * 20; i++) {
            int value, flag = 0, nothing = 0;
            MPI_Request request;
            MPI_Status status;
            MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
            for (; !flag; nothing++) MPI_Request_get_status(request, &flag, &status);
            printf("%d@%d ", status.MPI_SOURCE, nothing);
            MPI_Wait(&request, &status);
            see(status.MPI_SOURCE, status.MPI_TAG, value);
        }
        printf("%lu\n", seen);
    } else {
        send_all(20);
    }
    MPI_Finalize();
    return 0;
}
