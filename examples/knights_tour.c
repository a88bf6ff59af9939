// Knight's tour: a master and its slaves search one task queue of partial boards.
//
// The first case study of the Instant Replay paper (LeBlanc and Mellor-Crummey, 1986), written afresh with pthreads.
// The master puts the first board on the queue. Each slave takes a batch of boards, extends each of them by a few
// moves, and puts what came of it back. Which slave gets which boards decides where the search goes deep, so runs of
// the same program find different tours, in times that differ a lot; a replay finds the recorded one.
//
//     cc -O2 -pthread knights_tour.c -o knights_tour
//     ./knights_tour [COLUMNSxROWS [THREADS [first|all]]]         default: 5x6 4 all
//
// `first` stops at the first tour (at once up to 6x6; on larger boards so plain a search may take for ever). `all`
// searches the whole tree: the work is then the same in every run, and only the order of what is found differs, which
// is what a measurement needs. Decisions are taken only while the queue's mutex is held, so the order of its acquires
// decides everything that is printed.

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SQUARES_MAX = 64, BATCH = 64, STRIDE = 8, THREADS_MAX = 64 };

typedef struct {
    uint64_t visited;
    uint8_t moves;
    uint8_t path[SQUARES_MAX];
} Board;

typedef struct {
    Board *items;
    size_t count, room;
} Stack;

static int columns, rows, squares, threads, stop_at_first;
static uint64_t reach[SQUARES_MAX]; // the squares a knight on this square may go to

// The task queue and everything else that the slaves share; one mutex guards it all.
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    Stack tasks;
    int busy, done;
    uint64_t batches, tours, order; // order: hash of who took a batch and who found which tour, in that order
    int first_finder;
    Board first_tour;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void push(Stack *stack, const Board *board) {
    if (stack->count == stack->room) {
        stack->room = stack->room ? stack->room * 2 : 1024;
        stack->items = realloc(stack->items, stack->room * sizeof(Board));
        if (!stack->items) {
            perror("knights_tour");
            exit(1);
        }
    }
    stack->items[stack->count++] = *board;
}

static void moves_make(void) {
    static const int step[8][2] = {{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}};
    for (int from = 0; from < squares; from++)
        for (int i = 0; i < 8; i++) {
            int row = from / columns + step[i][0], column = from % columns + step[i][1];
            if (row >= 0 && row < rows && column >= 0 && column < columns)
                reach[from] |= UINT64_C(1) << (row * columns + column);
        }
}

// Extends a board depth first by at most `depth` moves; what is then unfinished goes to `open`, tours to `tours`.
static void extend(Board *board, int depth, Stack *open, Stack *tours) {
    if (board->moves == squares) {
        push(tours, board);
        return;
    }
    if (depth == 0) {
        push(open, board);
        return;
    }
    uint64_t next = reach[board->path[board->moves - 1]] & ~board->visited;
    for (; next; next &= next - 1) {
        int to = __builtin_ctzll(next);
        board->visited |= UINT64_C(1) << to;
        board->path[board->moves++] = (uint8_t)to;
        extend(board, depth - 1, open, tours);
        board->moves--;
        board->visited &= ~(UINT64_C(1) << to);
    }
}

static void mix(uint64_t value) { queue.order = (queue.order ^ value) * UINT64_C(0x100000001b3); }

static void *slave(void *argument) {
    int me = (int)(intptr_t)argument;
    Stack open = {0}, tours = {0};
    Board batch[BATCH];
    pthread_mutex_lock(&queue.mutex);
    for (;;) {
        while (queue.tasks.count == 0 && queue.busy > 0 && !queue.done)
            pthread_cond_wait(&queue.changed, &queue.mutex);
        if (queue.done || queue.tasks.count == 0)
            break;
        size_t taken = queue.tasks.count < BATCH ? queue.tasks.count : BATCH;
        queue.tasks.count -= taken;
        memcpy(batch, queue.tasks.items + queue.tasks.count, taken * sizeof(Board));
        queue.busy++;
        queue.batches++;
        mix((uint64_t)me);
        pthread_mutex_unlock(&queue.mutex);

        open.count = tours.count = 0;
        for (size_t i = 0; i < taken; i++)
            extend(&batch[i], STRIDE, &open, &tours);

        pthread_mutex_lock(&queue.mutex);
        queue.busy--;
        for (size_t i = 0; i < tours.count && !queue.done; i++) {
            if (queue.tours++ == 0) {
                queue.first_finder = me;
                queue.first_tour = tours.items[i];
            }
            for (int square = 0; square < squares; square++)
                mix(tours.items[i].path[square]);
            queue.done = stop_at_first;
        }
        for (size_t i = 0; i < open.count; i++)
            push(&queue.tasks, &open.items[i]);
        if (queue.done || open.count > 0 || queue.busy == 0)
            pthread_cond_broadcast(&queue.changed);
    }
    pthread_mutex_unlock(&queue.mutex);
    free(open.items);
    free(tours.items);
    return NULL;
}

static int legal(const Board *tour) {
    uint64_t seen = 0;
    for (int i = 0; i < squares; i++) {
        if (i > 0 && !(reach[tour->path[i - 1]] >> tour->path[i] & 1))
            return 0;
        seen |= UINT64_C(1) << tour->path[i];
    }
    return __builtin_popcountll(seen) == squares;
}

int main(int argc, char **argv) {
    int sized = sscanf(argc > 1 ? argv[1] : "5x6", "%dx%d", &columns, &rows) == 2;
    threads = argc > 2 ? atoi(argv[2]) : 4;
    stop_at_first = argc > 3 && strcmp(argv[3], "first") == 0;
    if (!sized || columns < 1 || columns > 8 || rows < 1 || rows > 8 || threads < 1 || threads > THREADS_MAX) {
        fprintf(stderr, "usage: knights_tour [COLUMNSxROWS to 8x8 [THREADS to %d [first|all]]]\n", THREADS_MAX);
        return 2;
    }
    squares = columns * rows;
    moves_make();
    Board first = {.visited = 1, .moves = 1, .path = {0}};
    push(&queue.tasks, &first);

    pthread_t ids[THREADS_MAX];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, slave, (void *)(intptr_t)(i + 1)) != 0) {
            fprintf(stderr, "knights_tour: cannot create a thread\n");
            return 1;
        }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);

    printf("order %016llx: %llu batches, %llu tours\n", (unsigned long long)queue.order,
           (unsigned long long)queue.batches, (unsigned long long)queue.tours);
    if (queue.tours == 0) {
        printf("no tour of a %dx%d board from its corner\n", columns, rows);
        return 0;
    }
    printf("first tour, by slave %d:", queue.first_finder);
    for (int i = 0; i < squares; i++)
        printf(" %c%d", 'a' + queue.first_tour.path[i] % columns,
               queue.first_tour.path[i] / columns + 1);
    printf("\ncheck: %s\n", legal(&queue.first_tour) ? "legal tour" : "NOT a tour");
    free(queue.tasks.items);
    return legal(&queue.first_tour) ? 0 : 1;
}
