// A rank is killed in the middle of its work, and the job with it: the replay comes as far, and ends so.
//@ ranks: 4
#include "race.h"
#include <signal.h>

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value;
    if (me == 0) {
        for (int i = 0; i < (ranks - 1) * 50; i++) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            printf("%d ", value);
            fflush(stdout);
            // The launcher has time to read it.
            struct timespec time = {0, 200000000};
            if (i == 40) syscall(SYS_nanosleep, &time, 0), raise(SIGKILL);
        }
    } else {
        send_all(50);
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
