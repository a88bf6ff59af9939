! The same as any.f90, by the interface of Fortran 2008.
program any
  use mpi_f08
  implicit none
  integer :: me, ranks, ierr, i, value
  type(MPI_Status) :: status
  type(MPI_Request) :: request
  logical :: flag
  integer :: nothing
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  nothing = 0
  if (me == 0) then
    do i = 1, (ranks - 1) * 20
      if (mod(i, 2) == 0) then
        call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierr)
      else
        call MPI_Irecv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, request, ierr)
        flag = .false.
        do while (.not. flag)
          call MPI_Test(request, flag, status, ierr)
          nothing = nothing + 1
        end do
      end if
      write (*, '(I0,A,I0,A)', advance='no') status%MPI_SOURCE, ':', value, ' '
    end do
    write (*, *) nothing
  else
    do i = 1, 20
      value = me * 100 + i
      call MPI_Send(value, 1, MPI_INTEGER, 0, mod(i, 3), MPI_COMM_WORLD, ierr)
    end do
  end if
  call MPI_Finalize(ierr)
end program
