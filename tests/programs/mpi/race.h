// Shared by the MPI fixtures: ranks that come in another order in every run, and a sum that shows the order.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int me, ranks;

static inline void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

// Up to `most` microseconds, another number in every run, by means that Retake does not see: a replay meets another
// timing than the recording did.
static inline void dawdle(int most) {
    unsigned long ticks = __builtin_ia32_rdtsc() >> 4;
    struct timespec time = {0, (long)((ticks * 2654435761u >> 8) % (unsigned)most) * 1000};
    syscall(SYS_nanosleep, &time, 0);
}

static unsigned long seen = 5381;

static inline void see(int source, int tag, int value) { seen = seen * 33 + (unsigned)(source * 10007 + tag * 101 + value); }

// What every other rank does in most of them: `many` messages to rank 0, with tags 0 to 2.
static inline void send_all(int many) {
    for (int i = 0; i < many; i++) {
        int value = me * 1000 + i;
        if (i % 4 == 0) dawdle(300);
        MPI_Send(&value, 1, MPI_INT, 0, i % 3, MPI_COMM_WORLD);
    }
}
