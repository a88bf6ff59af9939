// Gaussian elimination by message passing: finished rows are broadcast to the mailboxes of all workers.
//
// The second case study of the Instant Replay paper (LeBlanc and Mellor-Crummey, 1986), written afresh with pthreads.
// The master deals the rows of the matrix out to the workers. A worker that has finished a row puts it in a buffer,
// notes how many will read it, and posts it to every other mailbox; the last reader frees the buffer. The amount of
// work is the same in every run. What differs is the order in which rows arrive: row 8 may come before row 7, and is then
// set aside. That order is what is printed, and what a replay brings back.
//
//     cc -O2 -pthread gauss.c -o gauss -lm
//     ./gauss [SIZE [THREADS]]                             default: 2200 4
//
// Each mailbox is a list under a mutex with a condition variable; each buffer is on the heap with a mutex of its own.

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_MAX = 64 };

// One broadcast row. Its mutex guards `readers`, the number of workers that have not copied it yet.
typedef struct {
    pthread_mutex_t mutex;
    int readers, row, sender;
    double values[];
} Buffer;

typedef struct {
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    Buffer **list; // room for every row; [taken, put) are waiting
    int taken, put;
} Mailbox;

typedef struct {
    uint64_t order;  // hash of the rows and senders in the order in which they arrived
    int received, early; // early: rows that came before their turn
} Arrivals;

static int size, width, threads;
static double *matrix; // `size` rows of `width` = size + 1 numbers, the right-hand side last
static Mailbox mailboxes[THREADS_MAX];
static Arrivals arrivals[THREADS_MAX];

static void *room(size_t bytes) {
    void *memory = calloc(1, bytes);
    if (!memory) {
        perror("gauss");
        exit(1);
    }
    return memory;
}

static double *row_at(int row) { return matrix + (size_t)row * (size_t)width; }

static void broadcast(int sender, int row) {
    if (threads == 1)
        return;
    Buffer *buffer = room(sizeof(Buffer) + (size_t)width * sizeof(double));
    pthread_mutex_init(&buffer->mutex, NULL);
    memcpy(buffer->values, row_at(row), (size_t)width * sizeof(double));
    buffer->readers = threads - 1;
    buffer->row = row;
    buffer->sender = sender;
    for (int i = 1; i < threads; i++) {
        Mailbox *box = &mailboxes[(sender + i) % threads];
        pthread_mutex_lock(&box->mutex);
        box->list[box->put++] = buffer;
        pthread_cond_signal(&box->posted);
        pthread_mutex_unlock(&box->mutex);
    }
}

// Receives one row into `rows`, the worker's own store, and returns its number.
static int receive(int me, double **rows) {
    Mailbox *box = &mailboxes[me];
    pthread_mutex_lock(&box->mutex);
    while (box->taken == box->put)
        pthread_cond_wait(&box->posted, &box->mutex);
    Buffer *buffer = box->list[box->taken++];
    pthread_mutex_unlock(&box->mutex);

    int row = buffer->row;
    arrivals[me].order = (arrivals[me].order ^ (uint64_t)(row * THREADS_MAX + buffer->sender)) * UINT64_C(0x100000001b3);
    arrivals[me].received++;
    rows[row] = room((size_t)width * sizeof(double));
    memcpy(rows[row], buffer->values, (size_t)width * sizeof(double));

    pthread_mutex_lock(&buffer->mutex);
    int left = --buffer->readers;
    pthread_mutex_unlock(&buffer->mutex);
    if (left == 0) {
        pthread_mutex_destroy(&buffer->mutex);
        free(buffer);
    }
    return row;
}

static void eliminate(int me, const double *pivot, int column) {
    int first = column + 1 + ((me - (column + 1)) % threads + threads) % threads; // my first row below the pivot
    for (int row = first; row < size; row += threads) {
        double *mine = row_at(row), factor = mine[column] / pivot[column];
        for (int i = column; i < width; i++)
            mine[i] -= factor * pivot[i];
    }
}

static void *worker(void *argument) {
    int me = (int)(intptr_t)argument;
    double **rows = room((size_t)size * sizeof(double *));
    for (int column = 0; column < size; column++) {
        if (column % threads == me) {
            broadcast(me, column);
            eliminate(me, row_at(column), column);
            continue;
        }
        while (!rows[column])
            if (receive(me, rows) != column)
                arrivals[me].early++;
        eliminate(me, rows[column], column);
        free(rows[column]);
    }
    free(rows);
    return NULL;
}

// A matrix with a heavy diagonal (so that no pivoting is needed), whose solution is 1, 2, 3, 1, 2, 3, …
static void matrix_make(void) {
    uint64_t random = 88172645463325252u;
    matrix = room((size_t)size * (size_t)width * sizeof(double));
    for (int row = 0; row < size; row++) {
        double *values = row_at(row);
        for (int i = 0; i < size; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            values[i] = (double)(random % 1000) / 1000.0 + (i == row ? size : 0);
            values[size] += values[i] * (i % 3 + 1);
        }
    }
}

static double worst_error(void) {
    double *solution = room((size_t)size * sizeof(double)), worst = 0;
    for (int row = size - 1; row >= 0; row--) {
        double sum = row_at(row)[size];
        for (int i = row + 1; i < size; i++)
            sum -= row_at(row)[i] * solution[i];
        solution[row] = sum / row_at(row)[row];
        worst = fmax(worst, fabs(solution[row] - (row % 3 + 1)));
    }
    free(solution);
    return worst;
}

int main(int argc, char **argv) {
    size = argc > 1 ? atoi(argv[1]) : 2200;
    threads = argc > 2 ? atoi(argv[2]) : 4;
    if (size < 1 || size > 20000 || threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: gauss [SIZE 1..20000 [THREADS 1..%d]]\n", THREADS_MAX);
        return 2;
    }
    width = size + 1;
    matrix_make();
    pthread_t ids[THREADS_MAX];
    for (int i = 0; i < threads; i++) {
        pthread_mutex_init(&mailboxes[i].mutex, NULL);
        pthread_cond_init(&mailboxes[i].posted, NULL);
        mailboxes[i].list = room((size_t)size * sizeof(Buffer *));
    }
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, worker, (void *)(intptr_t)i) != 0) {
            fprintf(stderr, "gauss: cannot create a thread\n");
            return 1;
        }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);

    for (int i = 0; i < threads; i++)
        printf("worker %d: order %016llx, %d rows received, %d before their turn\n", i,
               (unsigned long long)arrivals[i].order, arrivals[i].received, arrivals[i].early);
    double worst = worst_error();
    printf("check: %s\n", worst < 1e-6 ? "solution right" : "solution WRONG");
    for (int i = 0; i < threads; i++)
        free(mailboxes[i].list);
    free(matrix);
    return worst < 1e-6 ? 0 : 1;
}
