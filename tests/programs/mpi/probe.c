// A message is looked for, then received: by waiting for one, or by looking again and again.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Probe MPI_Iprobe
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        int nothing = 0;
        for (int i = 0; i < (ranks - 1) * 30; i++) {
            int value, flag = 1;
            MPI_Status status;
            if (i % 2) {
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            } else {
                do MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
                while (!flag && ++nothing);
            }
            MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            see(status.MPI_SOURCE, status.MPI_TAG, value);
            printf("%d@%d ", status.MPI_SOURCE, nothing);
        }
        printf("%lu\n", seen);
    } else {
        send_all(30);
    }
    MPI_Finalize();
    return 0;
}
