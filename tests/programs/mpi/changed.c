// Rank 0 receives as its variable says, or rank 1 leaves the others alone: a take of one way is replayed in another, which
// must be told.
//@ ranks: 3
#include "race.h"
#include <string.h>

int main(int argc, char **argv) {
    begin(&argc, &argv);
    const char *way = getenv("WAY");
    int value, flag;
    MPI_Status status;
    for (int i = 0; me == 0 && i < (ranks - 1) * 10; i++) {
        if (way && !strcmp(way, "probe")) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (way && !strcmp(way, "look")) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    }
    if (me > 0) send_all(way && !strcmp(way, "fewer") ? 9 : 10);
    if (me != 1 || !way || strcmp(way, "apart")) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
