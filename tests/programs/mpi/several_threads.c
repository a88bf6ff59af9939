// Two threads receive at the same time under MPI_THREAD_MULTIPLE: their order is not replayed, and must be told.
//@ ranks: 3
//@ flags: -pthread
#include "race.h"
#include <pthread.h>

static void *receive(void *unused) {
    int value;
    for (int i = 0; i < 10; i++)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (me == 0) {
        pthread_t thread;
        pthread_create(&thread, 0, receive, 0);
        receive(0);
        pthread_join(thread, 0);
    } else {
        send_all(10);
    }
    MPI_Finalize();
    return 0;
}
