// A message is looked for and taken by its handle, as mpi4py does.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Mprobe MPI_Improbe
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        int nothing = 0;
        for (int i = 0; i < (ranks - 1) * 30; i++) {
            int value, flag = 1;
            MPI_Status status;
            MPI_Message message;
            if (i % 2) {
                MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
                MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            } else {
                MPI_Request request;
                do MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
                while (!flag && ++nothing);
                MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
            see(status.MPI_SOURCE, status.MPI_TAG, value);
            printf("%d@%d ", value, nothing);
        }
        printf("%lu\n", seen);
    } else {
        send_all(30);
    }
    MPI_Finalize();
    return 0;
}
