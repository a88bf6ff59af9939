// A receive is cancelled while its message may be on its way. If it was too late, it got the message; if not, the next
// receive gets it. From anyone, and from one sender.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Cancel
#include "race.h"

static int take(int source) {
    int value = -1, gone = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, source, 7, MPI_COMM_WORLD, &request);
    dawdle(300);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &gone);
    printf("%s%d ", gone ? "-" : "+", gone ? 0 : value);
    return !gone;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        int got = 0;
        for (int i = 0; i < 20 && got < ranks - 1; i++) got += take(i % 3 ? MPI_ANY_SOURCE : 1 + i % (ranks - 1));
        for (; got < (ranks - 1) * 2; got++) {
            int value;
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("%d ", value);
        }
        puts("");
    } else {
        for (int i = 0; i < 2; i++) {
            int value = me * 10 + i;
            dawdle(2000);
            MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
