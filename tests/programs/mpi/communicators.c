// Receives from anyone in communicators of all kinds: doubled, split, made of a group, and between two groups.
//@ ranks: 6
//@ replay: 20 times, same stdout
//@ covers: MPI_Recv
#include "race.h"

// Everyone sends to rank 0 of `comm` (of the other side, if `across`); `many` come in there.
static void rounds(const char *name, MPI_Comm comm, int many, int sends, int receives) {
    for (int i = 0; sends && i < 10; i++) {
        int value = me * 100 + i;
        dawdle(100);
        MPI_Send(&value, 1, MPI_INT, 0, i, comm);
    }
    for (int i = 0; receives && i < many * 10; i++) {
        int value;
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        see(status.MPI_SOURCE, status.MPI_TAG, value);
    }
    unsigned long sum = seen, all[16];
    MPI_Gather(&sum, 1, MPI_UNSIGNED_LONG, all, 1, MPI_UNSIGNED_LONG, 0, MPI_COMM_WORLD);
    if (me == 0) printf("%s %lu %lu\n", name, all[0], all[1]);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm doubled, half, some, across;
    MPI_Group world, group;
    int first[] = {0, 1, 2, 3}, small;
    MPI_Comm_dup(MPI_COMM_WORLD, &doubled);
    rounds("doubled", doubled, ranks - 1, me > 0, me == 0);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    rounds("split", half, ranks / 2 - 1, me > 1, me < 2);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 4, first, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &some);
    MPI_Group_rank(group, &small);
    rounds("group", some, 3, small > 0, small == 0);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me % 2 ? 0 : 1, 5, &across);
    rounds("across", across, ranks / 2, 1, me < 2);
    MPI_Finalize();
    return 0;
}
