// Package frameworks runs what people start on several nodes, unmodified, as jobs on rented machines: Open MPI, MPICH, mpi4py, torchrun, PyTorch Lightning,
// DeepSpeed, JAX, Ray, submitit. Each finds the nodes of its job in its own way (Slurm's variables, scontrol show hostnames, a host file), starts its processes through
// srun, ssh or by itself, and adds up its ranks over the network. It has tests only.
//
// The scripts in testdata are those of the frameworks' own documentation. They run on the local pool, and where FSUB_FULL is set on machines with networks of their
// own and on instances of the EC2 stand-in too. FSUB_FULL also lets a test get what it lacks: packages of Debian, and of PyPI below
// /var/cache/fsub-frameworks by provide.sh. Without it a framework that is not there is skipped. By hand:
//
//	FSUB_FULL=1 go test -v -run 'TestFrameworks/local/jax' ./testbed/frameworks
package frameworks
