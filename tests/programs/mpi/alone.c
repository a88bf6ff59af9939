// One rank alone: types with gaps, parts of elements, collectives of every shape, topologies, groups, persistent and matched
// messages. Each rank prints a sum of all that it got.
//@ ranks: 4
#include "race.h"

static void eat(const void *at, size_t size) {
    for (size_t i = 0; i < size; i++) seen = seen * 33 + ((const unsigned char *)at)[i];
}

static void collect(MPI_Comm comm, int rank, int size) {
    int mine[10], all[32] = {0}, counts[4], places[4];
    double sum = rank * 1.5, total;
    for (int i = 0; i < 10; i++) mine[i] = rank * 100 + i;
    for (int i = 0; i < size; i++) counts[i] = i + 1, places[i] = i * 5;
    MPI_Request requests[3];
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Gatherv(mine, rank + 1, MPI_INT, all, counts, places, MPI_INT, 1, comm), eat(all, sizeof all);
    MPI_Allgatherv(mine, rank + 1, MPI_INT, all, counts, places, MPI_INT, comm), eat(all, sizeof all);
    MPI_Scatter(all, 2, MPI_INT, mine, 2, MPI_INT, size - 1, comm), eat(mine, sizeof mine);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, mine, 2, MPI_INT, comm), eat(mine, sizeof mine);
    MPI_Reduce_scatter(mine, all, counts, MPI_INT, MPI_MAX, comm), eat(all, sizeof all);
    MPI_Bcast(mine, 8, MPI_INT, 2, comm), eat(mine, sizeof mine);
    MPI_Iscan(mine, all, 4, MPI_INT, MPI_SUM, comm, requests);
    MPI_Ibarrier(comm, requests + 1);
    MPI_Ibcast(mine + 4, 4, MPI_INT, 0, comm, requests + 2);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE), eat(all, sizeof all), eat(&total, sizeof total);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    collect(MPI_COMM_WORLD, me, ranks);
    int right = (me + 1) % ranks, left = (me + ranks - 1) % ranks, data[12] = {0}, near[2], sides[2] = {2, 2}, round[2] = {1, 1};
    MPI_Datatype gaps;
    MPI_Type_vector(3, 1, 2, MPI_INT, &gaps), MPI_Type_commit(&gaps);
    for (int i = 0; i < 12; i++) data[i] = me * 50 + i;
    MPI_Status status;
    // Half an element: two of the three numbers of one `gaps` behind a whole one.
    MPI_Request send, persistent[2];
    MPI_Isend(data, 5, MPI_INT, right, 3, MPI_COMM_WORLD, &send);
    MPI_Recv(data + 6, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &status);
    int got[24] = {0}, count, elements;
    MPI_Recv(got, 4, gaps, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status), MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Get_count(&status, gaps, &count), MPI_Get_elements(&status, gaps, &elements);
    eat(got, sizeof got), see(status.MPI_SOURCE, count == MPI_UNDEFINED, elements);
    MPI_Comm grid, odd;
    MPI_Cart_create(MPI_COMM_WORLD, 2, sides, round, 0, &grid), MPI_Cart_shift(grid, 1, 1, near, near + 1), eat(near, sizeof near);
    MPI_Sendrecv_replace(data, 2, gaps, near[1], 5, near[0], 5, grid, &status), eat(data, sizeof data);
    MPI_Group world, some;
    int chosen[2] = {1, 3}, rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world), MPI_Group_incl(world, 2, chosen, &some), MPI_Group_rank(some, &rank), eat(&rank, sizeof rank);
    MPI_Comm_create(MPI_COMM_WORLD, some, &odd);
    if (odd != MPI_COMM_NULL) MPI_Allreduce(MPI_IN_PLACE, data, 3, MPI_INT, MPI_SUM, odd), eat(data, sizeof data);
    MPI_Send_init(data, 3, MPI_INT, right, 7, MPI_COMM_WORLD, persistent), MPI_Recv_init(got, 3, MPI_INT, left, 7, MPI_COMM_WORLD, persistent + 1);
    for (int i = 0; i < 3; i++, data[0]++) MPI_Startall(2, persistent), MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE), eat(got, sizeof got);
    MPI_Message message;
    // With an argument it goes another way: other bytes, or fewer of them.
    if (argc > 1) data[1]++;
    MPI_Isend(data, argc > 2 ? 3 : 4, MPI_INT, left, 9, MPI_COMM_WORLD, &send);
    MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, &status), MPI_Get_count(&status, MPI_INT, &count);
    MPI_Mrecv(got, count, MPI_INT, &message, &status), eat(got, sizeof got), MPI_Wait(&send, MPI_STATUS_IGNORE);
    printf("rank %d of %d: %lu\n", me, ranks, seen);
    MPI_Type_free(&gaps);
    MPI_Finalize();
    return 0;
}
