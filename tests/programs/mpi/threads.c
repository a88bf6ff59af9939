// Threads of a rank take turns at MPI under a mutex: their order, and whose message each got.
//@ flags: -pthread
//@ ranks: 4
//@ replay: 20 times, same stdout
//@ covers: MPI_Recv MPI_Init_thread
#include "race.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int left;

static void *receive(void *name) {
    for (;;) {
        int value;
        MPI_Status status;
        pthread_mutex_lock(&lock);
        if (left-- <= 0) break;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        see(status.MPI_SOURCE, *(char *)name, value);
        printf("%s%d ", (char *)name, status.MPI_SOURCE);
        pthread_mutex_unlock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (me == 0) {
        pthread_t one, two;
        left = (ranks - 1) * 20;
        pthread_create(&one, 0, receive, "a");
        pthread_create(&two, 0, receive, "b");
        pthread_join(one, 0);
        pthread_join(two, 0);
        printf("%lu\n", seen);
    } else {
        send_all(20);
    }
    MPI_Finalize();
    return 0;
}
