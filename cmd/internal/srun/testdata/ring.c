/* Every rank passes a number on around the ring and adds up what all have. With an argument the second rank aborts. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
	int rank, size, sum, mine, got;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	mine = rank + 1;
	MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 0, &got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Allreduce(&got, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (argc > 1) {
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 3);
		sleep(60);
	}
	printf("%d of %d: %d\n", rank, size, sum);
	MPI_Finalize();
	return 0;
}
