// A thread of rank 1 works for so many seconds of processor time, and then sends what rank 0 waits for; all else waits.
//@ flags: -pthread
//@ ranks: 2
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static int seconds;

static void *work(void *unused) {
    struct rusage used = {0};
    while (used.ru_utime.tv_sec < seconds) {
        for (volatile int i = 0; i < 1000000; i++) {}
        getrusage(RUSAGE_THREAD, &used);
    }
    MPI_Send(&seconds, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    return unused;
}

int main(int argc, char **argv) {
    int given, me, value;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    seconds = argc > 1 ? atoi(argv[1]) : 0;
    if (me == 1) {
        pthread_create(&thread, 0, work, 0);
        MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        pthread_join(thread, 0);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    if (me == 0) puts("end");
    return 0;
}
