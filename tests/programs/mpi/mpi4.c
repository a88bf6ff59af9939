// What MPI 4 added: counts of any size, and an exchange that does not block (which cannot be replayed from anyone).
//@ ranks: 4
//@ only: mpich mpich5 abi
//@ replay: 20 times, same stdout
//@ covers: MPI_Recv_c MPI_Irecv_c MPI_Sendrecv_c MPI_Sendrecv_replace_c MPI_Recv_init_c
//@ covers: MPI_Isendrecv MPI_Isendrecv_c MPI_Isendrecv_replace MPI_Isendrecv_replace_c
#include "race.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int any = MPI_ANY_SOURCE, tag = MPI_ANY_TAG, value, again, out = 7;
    MPI_Comm all = MPI_COMM_WORLD, pairs;
    MPI_Comm_dup(all, &pairs);
    if (me > 0) {
        send_all(6 * (ranks - 1));
        for (int i = 0; i < 4 * (ranks - 1); i++) MPI_Send(&i, 1, MPI_INT, 0, 6, pairs);
        for (int i = 0; i < 2 * (ranks - 1); i++) MPI_Recv(&value, 1, MPI_INT, 0, 5, all, MPI_STATUS_IGNORE);
        for (int i = 0; i < 4 * (ranks - 1); i++) MPI_Recv(&value, 1, MPI_INT, 0, 5, pairs, MPI_STATUS_IGNORE);
    } else {
        MPI_Request kept;
        MPI_Recv_init_c(&again, 1, MPI_INT, any, tag, all, &kept);
        for (int i = 0; i < (ranks - 1) * (ranks - 1) * 10; i++) {
            int kind = i % 10, to = 1 + i / 10 % (ranks - 1);
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status;
            if (kind == 0) MPI_Recv_c(&value, 1, MPI_INT, any, tag, all, &status);
            if (kind == 1) MPI_Irecv_c(&value, 1, MPI_INT, any, tag, all, &request);
            if (kind == 2) MPI_Sendrecv_c(&out, 1, MPI_INT, to, 5, &value, 1, MPI_INT, any, tag, all, &status);
            if (kind == 3) MPI_Sendrecv_replace_c(&value, 1, MPI_INT, to, 5, any, tag, all, &status);
            if (kind == 4 || kind == 5) MPI_Start(&kept), MPI_Wait(&kept, &status), value = again;
            if (kind == 6) MPI_Isendrecv(&out, 1, MPI_INT, to, 5, &value, 1, MPI_INT, to, tag, pairs, &request);
            if (kind == 7) MPI_Isendrecv_c(&out, 1, MPI_INT, to, 5, &value, 1, MPI_INT, to, tag, pairs, &request);
            if (kind == 8) MPI_Isendrecv_replace(&value, 1, MPI_INT, to, 5, to, tag, pairs, &request);
            if (kind == 9) MPI_Isendrecv_replace_c(&value, 1, MPI_INT, to, 5, to, tag, pairs, &request);
            if (request != MPI_REQUEST_NULL) MPI_Wait(&request, &status);
            see(0, kind, value);
            printf("%d ", value);
        }
        printf("%lu\n", seen);
        MPI_Request_free(&kept);
    }
    MPI_Finalize();
    return 0;
}
