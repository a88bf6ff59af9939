// Some of several receives are done, in some order: which, how many, and what they got.
//@ ranks: 5
//@ replay: 20 times, same stdout
//@ covers: MPI_Waitsome
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        int many = (ranks - 1) * 20, values[100], indices[100], done = 0;
        MPI_Request requests[100];
        MPI_Status statuses[100];
        for (int i = 0; i < many; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
        for (int some; done < many; done += some) {
            MPI_Waitsome(many, requests, &some, indices, done % 2 ? statuses : MPI_STATUSES_IGNORE);
            printf("%d:", some);
            for (int i = 0; i < some; i++) see(i, indices[i], values[indices[i]]), printf("%d ", indices[i]);
            dawdle(400);
        }
        int some;
        MPI_Waitsome(many, requests, &some, indices, statuses);
        printf("%d %lu\n", some == MPI_UNDEFINED, seen);
    } else {
        send_all(20);
    }
    MPI_Finalize();
    return 0;
}
