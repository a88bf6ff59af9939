// A server that tests, works, tests again: how often it found nothing, and what it found when.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Testsome
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        int many = (ranks - 1) * 20, values[100], indices[100], done = 0, nothing = 0;
        MPI_Request requests[100];
        MPI_Status statuses[100];
        for (int i = 0; i < many; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
        for (int some; done < many; done += some) {
            MPI_Testsome(many, requests, &some, indices, statuses);
            if (some == 0) nothing++;
            for (int i = 0; i < some; i++) see(statuses[i].MPI_SOURCE, indices[i], values[indices[i]]);
            if (some) printf("%d after %d, ", some, nothing);
        }
        printf("%d %lu\n", nothing, seen);
    } else {
        send_all(20);
    }
    MPI_Finalize();
    return 0;
}
