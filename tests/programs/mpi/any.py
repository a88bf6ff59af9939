# Receives from anyone by mpi4py, which probes for the message first.
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.rank == 0:
    for i in range((comm.size - 1) * 20):
        status = MPI.Status()
        value = comm.recv(source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG, status=status)
        print(status.source, value, end=" ")
    print()
else:
    for i in range(20):
        comm.send((comm.rank, i), 0, i % 3)
