// A job starts two more ranks, and then two others: everyone's messages come back in the order in which they came.
//@ ranks: 2
//@ only: openmpi openmpi5
//@ replay: 4 times, same stdout
//@ covers: MPI_Comm_spawn MPI_Comm_spawn_multiple
#include "race.h"

static void receive(MPI_Comm started) {
    for (int i = 0; me == 0 && i < 20; i++) {
        int value;
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, started, &status);
        see(status.MPI_SOURCE, status.MPI_TAG, value);
    }
    MPI_Comm_disconnect(&started);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm parent, started;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        for (int i = 0; i < 10; i++) {
            int value = me * 100 + i;
            dawdle(300);
            MPI_Send(&value, 1, MPI_INT, 0, i, parent);
        }
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    char *commands[] = {argv[0], argv[0]};
    int each[] = {1, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &started, MPI_ERRCODES_IGNORE);
    receive(started);
    MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, each, infos, 1, MPI_COMM_WORLD, &started, MPI_ERRCODES_IGNORE);
    receive(started);
    if (me == 0) printf("%lu\n", seen);
    MPI_Finalize();
    return 0;
}
