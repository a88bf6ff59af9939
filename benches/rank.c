// One rank that sends to itself: rank pair|nothing|some N. For benches/instructions, which counts what recording adds.
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { POSTED = 16 };
static int values[POSTED], value;
static MPI_Request requests[POSTED];

static void post(int slot) {
    MPI_Irecv(&values[slot], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[slot]);
}

static int test(int *indices) {
    int done;
    MPI_Status statuses[POSTED];
    MPI_Testsome(POSTED, requests, &done, indices, statuses);
    return done;
}

static void send(void) { MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); }

// What is counted.
__attribute__((noinline)) void counted(const char *what, long many) {
    int indices[POSTED];
    for (long i = 0; i < many; i++) {
        if (!strcmp(what, "pair")) {
            MPI_Status status;
            send();
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
            continue;
        }
        test(indices);
        if (strcmp(what, "some")) continue;
        test(indices);
        send();
        for (int done = 0; done == 0;) {
            done = test(indices);
            for (int k = 0; k < done; k++) post(indices[k]);
        }
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    const char *what = argc > 2 ? argv[1] : "";
    int is_pair = !strcmp(what, "pair");
    for (int slot = 0; slot < POSTED && !is_pair; slot++) post(slot);
    counted(what, argc > 2 ? atol(argv[2]) : 0);
    for (int slot = 0; slot < POSTED && !is_pair; slot++) {
        MPI_Cancel(&requests[slot]);
        MPI_Wait(&requests[slot], MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
