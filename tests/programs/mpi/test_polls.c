// How often a test found nothing before each message came, by every kind of test.
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Test MPI_Testany MPI_Testall
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    if (me == 0) {
        for (int round = 0; round < 12; round++) {
            int values[6], flag = 0, index = -1, nothing = 0;
            MPI_Request requests[6];
            MPI_Status statuses[6];
            for (int i = 0; i < 6; i++)
                MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
            for (; !flag; nothing++) MPI_Test(&requests[2], &flag, round % 2 ? &statuses[2] : MPI_STATUS_IGNORE);
            printf("%d:%d ", nothing, values[2]);
            for (flag = 0; !flag; nothing++) MPI_Testany(6, requests, &index, &flag, &statuses[0]);
            printf("%d:%d(%d) ", nothing, index, values[index]);
            for (flag = 0; !flag; nothing++) MPI_Testall(6, requests, &flag, round % 2 ? statuses : MPI_STATUSES_IGNORE);
            for (int i = 0; i < 6; i++) see(0, i, values[i]);
            MPI_Testany(6, requests, &index, &flag, &statuses[0]);
            printf("%d %d%d\n", nothing, flag, index == MPI_UNDEFINED);
        }
        printf("%lu\n", seen);
    } else {
        send_all(24);
    }
    MPI_Finalize();
    return 0;
}
