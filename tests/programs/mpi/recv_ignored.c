// Nobody looks at the status: only the values tell from whom they came. One tag is asked for, then the other.
//@ ranks: 8
//@ replay: 20 times, same stdout
//@ covers: MPI_Recv
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        for (int tag = 1; tag < 3; tag++)
            for (int i = 0; i < (ranks - 1) * 10; i++) {
                int value;
                MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                see(0, tag, value);
                printf("%d ", value);
            }
        printf("%lu\n", seen);
    } else {
        for (int i = 0; i < 20; i++) {
            int value = me * 100 + i;
            dawdle(100);
            MPI_Send(&value, 1, MPI_INT, 0, 1 + i % 2, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
