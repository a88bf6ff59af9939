// A job starts two more ranks, and then two others: everyone's messages come back in the order in which they came.
//@ ranks: 2
//@ only: openmpi openmpi5 mpich5 abi
//@ replay: 20 times, same stdout
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

// Started with a path, it starts `spawn` from there.
int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm parent, started;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 10); i++) {
            int value = me * 100 + i;
            dawdle(300);
            MPI_Send(&value, 1, MPI_INT, 0, i, parent);
        }
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    char *command = argc > 1 ? "spawn" : argv[0], *commands[] = {argv[0], argv[0]}, *ten[] = {"10", NULL};
    int each[] = {1, 1};
    MPI_Info info, infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Info_create(&info);
    if (argc > 1) MPI_Info_set(info, "path", argv[1]);
    MPI_Comm_spawn(command, ten, 2, info, 0, MPI_COMM_WORLD, &started, MPI_ERRCODES_IGNORE);
    receive(started);
    MPI_Comm_spawn_multiple(2, commands, MPI_ARGVS_NULL, each, infos, 1, MPI_COMM_WORLD, &started, MPI_ERRCODES_IGNORE);
    receive(started);
    if (me == 0) printf("%lu\n", seen);
    MPI_Info_free(&info);
    MPI_Finalize();
    return 0;
}
