// Three parallel jobs whose cost under Retake is measured: mpi wildcard|transport|stencil N.
//
// Rank 0 tells on standard error how many receives all ranks made and how many nanoseconds the job took, by a clock that
// Retake does not see; on standard output a number that depends on the order of messages and must come back.
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int me, ranks;
static uint64_t seen = 5381, receives;

static double now_ns(void) {
    struct timespec time;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void see(int source, uint64_t value) { seen = seen * 33 + (uint64_t)source * 10007 + value; }

// Bare receives from anyone. Now and then the senders wait, so that messages do not pile up.
static void wildcard(long each) {
    enum { WINDOW = 256 };
    for (long i = 0; i < each; i++) {
        int value = (int)i;
        if (me > 0) {
            MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        } else {
            for (int k = 1; k < ranks; k++) {
                MPI_Status status;
                MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
                see(status.MPI_SOURCE, value);
                receives++;
            }
        }
        if (i % WINDOW == WINDOW - 1) MPI_Barrier(MPI_COMM_WORLD);
    }
}

// Particles fly through the ranks until they are absorbed; each carries its own random numbers, so that the work is the
// same in every run. Rank 0 counts those that are gone.
typedef struct { uint64_t random; } Particle;
enum { PARTICLE, GONE, STOP, POSTED = 16 };

static double fly(Particle *particle) {
    double path = 0;
    for (int i = 0; i < 150; i++) {
        particle->random = particle->random * 6364136223846793005u + 1442695040888963407u;
        path += log(1.0 + (double)(particle->random >> 40));
    }
    return path;
}

static void transport(long each) {
    Particle *stack = malloc(sizeof *stack * each * ranks), slots[POSTED];
    MPI_Request requests[POSTED];
    long held = 0, left = each * ranks;
    double tally = 0;
    for (; held < each; held++) stack[held].random = (uint64_t)(me * each + held) * 0x9E3779B97F4A7C15u + 1;
    for (int i = 0; i < POSTED; i++)
        MPI_Irecv(&slots[i], sizeof *slots, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
    for (int stop = 0; !stop;) {
        int done, indices[POSTED];
        MPI_Status statuses[POSTED];
        MPI_Testsome(POSTED, requests, &done, indices, statuses);
        for (int i = 0; i < done; i++) {
            int slot = indices[i], tag = statuses[i].MPI_TAG;
            see(statuses[i].MPI_SOURCE, slots[slot].random);
            receives++;
            if (tag == PARTICLE) stack[held++] = slots[slot];
            if (tag == GONE) left--;
            if (tag == STOP) stop = 1;
            MPI_Irecv(&slots[slot], sizeof *slots, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[slot]);
        }
        if (held > 0) {
            Particle particle = stack[--held];
            tally += fly(&particle);
            unsigned chance = particle.random >> 33 & 0xff;
            int to = (int)((particle.random >> 41) % (unsigned)ranks);
            if (chance < 16 && me == 0) left--;
            else if (chance < 16) MPI_Send(&particle, sizeof particle, MPI_BYTE, 0, GONE, MPI_COMM_WORLD);
            else if (chance < 80 && to != me) MPI_Send(&particle, sizeof particle, MPI_BYTE, to, PARTICLE, MPI_COMM_WORLD);
            else stack[held++] = particle;
        }
        if (me == 0 && left == 0) {
            Particle none = {0};
            for (int to = 1; to < ranks; to++) MPI_Send(&none, sizeof none, MPI_BYTE, to, STOP, MPI_COMM_WORLD);
            stop = 1;
        }
    }
    for (int i = 0; i < POSTED; i++) {
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    free(stack);
    if (tally < 0) puts("never");
}

// A grid in strips: each step exchanges rows with both neighbours, who are known.
static void stencil(long steps) {
    enum { WIDE = 512, HIGH = 64 };
    static double now[HIGH + 2][WIDE], next[HIGH + 2][WIDE];
    int up = me > 0 ? me - 1 : MPI_PROC_NULL, down = me < ranks - 1 ? me + 1 : MPI_PROC_NULL;
    for (int x = 0; x < WIDE; x++) now[1][x] = me + x % 7;
    for (long step = 0; step < steps; step++) {
        MPI_Request requests[4];
        MPI_Irecv(now[0], WIDE, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(now[HIGH + 1], WIDE, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(now[1], WIDE, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(now[HIGH], WIDE, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        receives += (up >= 0) + (down >= 0);
        for (int y = 1; y <= HIGH; y++)
            for (int x = 1; x < WIDE - 1; x++)
                next[y][x] = 0.25 * (now[y - 1][x] + now[y + 1][x] + now[y][x - 1] + now[y][x + 1]);
        memcpy(now[1], next[1], sizeof now[0] * HIGH);
    }
    for (int y = 1; y <= HIGH; y++)
        for (int x = 0; x < WIDE; x++) see(y, (uint64_t)(now[y][x] * 1e6));
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *what = argc > 2 ? argv[1] : "";
    long many = argc > 2 ? atol(argv[2]) : 0;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = now_ns();
    if (!strcmp(what, "wildcard")) wildcard(many);
    else if (!strcmp(what, "transport")) transport(many);
    else if (!strcmp(what, "stencil")) stencil(many);
    MPI_Barrier(MPI_COMM_WORLD);
    double took = now_ns() - start;
    uint64_t all[2], mine[2] = {receives, seen};
    MPI_Reduce(mine, all, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0) {
        printf("%llu\n", (unsigned long long)all[1]);
        fprintf(stderr, "receives %llu %.0f\n", (unsigned long long)all[0], took);
    }
    MPI_Finalize();
    return 0;
}
