// Receives from anyone, any tag: the order in which messages came must come back.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Init MPI_Recv
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        for (int i = 0; i < (ranks - 1) * 50; i++) {
            int value;
            MPI_Status status;
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            see(status.MPI_SOURCE, status.MPI_TAG, value);
            if (i < 60) printf("%d", status.MPI_SOURCE);
        }
        printf(" %lu\n", seen);
    } else {
        send_all(50);
    }
    MPI_Finalize();
    return 0;
}
