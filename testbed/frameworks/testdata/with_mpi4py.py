from mpi4py import MPI

comm = MPI.COMM_WORLD
total = comm.allreduce(comm.rank + 1)
print(f"rank {comm.rank} of {comm.size} on {MPI.Get_processor_name()}: sum {total}", flush=True)
