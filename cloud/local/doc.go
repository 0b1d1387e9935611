// Package local is a provider.Provider whose machines are processes of this machine: no cloud, no
// Slurm, no root needed.
//
// A machine is an agent with all its descendants, in namespaces of its own as far as the kernel allows
// (see [Isolation]): a PID namespace, so that a machine that ends takes every process with it; a mount
// namespace with its own /etc/hosts, so that the names of a gang resolve, and its own /dev/shm, since
// libraries name their segments there as if they had the node to themselves (NCCL, Gloo, Open MPI); a
// host name. /tmp is the host's: users submit from there, and find their output there. root's machines
// keep their own files in /etc when the host's are replaced ([inside.Keep]); others have no right to.
// For root all of it always works, unless it is root of a container; for others it takes user
// namespaces: there, files of other users seem to belong to nobody, and setuid programs do not work.
// Where none of it is allowed, the agent runs under a supervisor that kills what it leaves behind, and
// host names do not resolve.
//
// root's machines have networks of their own, each with an address on a bridge (package lan): ports do
// not collide, localhost is the machine's, and a machine can be cut off. Most jobs use a network to fetch
// data, so [New] tries whether packets get out and back by masquerade and whether names can resolve. If
// not (no nf_tables, a firewall that forwards nothing, a way out by IPv6 only, name servers on loopback
// without a file that names those they ask), machines have the host's network. [Provider.Network] says
// which it is, and why. What listens on the host's loopback only, such as a proxy, cannot be reached from
// a network of its own: NetworkHost is for that.
//
// On the host's network each machine has an address in 127.0.0.0/8. So it is without root: a user
// namespace has a network, but no way out of it without a program that carries packets (pasta,
// slirp4netns), which hardly a cluster's user has.
//
// Machines outlive the daemon; they hold a lease at its agent server. Their state is in Dir:
// gangs/TOKEN.json, written before the first process of a gang starts, and machines/ID/, which is removed
// with the machine. The file "process" there names the machine's process by number and start time. That
// process writes it itself (package inside), and only one can: so Create may be called again at any
// point, and starts nothing twice.
//
// Start reading at create.go.
package local
