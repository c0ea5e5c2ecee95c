! SPDX-License-Identifier: BSD-3-Clause
!
! Collectives of a Fortran program: constants that only Fortran has, the types and logical results
! of its own. The output is the same with and without libweft-mpich.so.
program coll_fortran
  use mpi
  implicit none
  integer, parameter :: n = 1000
  integer :: ierr, rank, ranks, i, request, requests(3), whole(n), sums(n), root(n)
  double precision :: reals(n), most(n)
  logical :: flag

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  do i = 1, n
    whole(i) = i * (rank + 1)
    reals(i) = dble(i) / (rank + 1)
    root(i) = whole(i)
  end do
  call MPI_Iallreduce(whole, sums, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierr)
  most = reals
  call MPI_Iallreduce(MPI_IN_PLACE, most, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Ibcast(root, n, MPI_INTEGER, 0, MPI_COMM_WORLD, requests(3), ierr)
  call MPI_Waitall(3, requests, MPI_STATUSES_IGNORE, ierr)
  do i = 1, n
    if (sums(i) /= i * ranks * (ranks + 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
    if (most(i) /= dble(i)) call MPI_Abort(MPI_COMM_WORLD, 2, ierr)
    if (root(i) /= i) call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
  end do
  call MPI_Ibarrier(MPI_COMM_WORLD, request, ierr)
  flag = .false.
  do while (.not. flag)
    call MPI_Test(request, flag, MPI_STATUS_IGNORE, ierr)
  end do
  call MPI_Allreduce(whole, sums, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(a,i0)', 'sums of ranks: ', sum(sums)
  call MPI_Finalize(ierr)
end program coll_fortran
