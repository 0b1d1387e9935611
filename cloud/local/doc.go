// Package local is a provider.Provider whose machines are processes of this machine: no cloud, no Slurm, no root needed.
//
// A machine is an agent with all that descends from it, in namespaces of its own as far as the kernel allows (see [Isolation]): a PID
// namespace, so that a machine that ends takes every process with it; a mount namespace with an /etc/hosts of its own, so that the names of a gang resolve, and a
// /dev/shm of its own, since libraries name their segments there as if a node had it to itself (NCCL, Gloo, Open MPI); a host name. /tmp is the host's: users submit from there,
// and find their output there. Root's machines keep what they have of their own in /etc when the host's files are replaced ([inside.Keep]); others have no right to. For root all of it always works, unless it is root of a container; for others it takes user namespaces. Files of other users are shown as nobody's
// there, and setuid programs do not work. Where nothing of it is allowed the agent runs under a supervisor that kills what it leaves behind; host names do
// not resolve there.
//
// Root's machines have networks of their own, each with an address on a bridge (package lan): ports do not collide, localhost is the machine's, and a machine can be cut off. What jobs do most
// with a network is to fetch data; so [New] tries whether packets get out and back by masquerade, and whether names can resolve there, and where that is not so (no nf_tables, a firewall that
// forwards nothing, a way out by IPv6 only, name servers on the loopback interface without a file that says whom they ask), machines have the host's network. [Provider.Network] tells which, and why.
// What only the host's loopback interface has, such as a proxy, is not to be reached from a network of its own: NetworkHost is for that.
//
// On the host's network each machine has an address out of 127.0.0.0/8. That is so without root: in a user namespace there is a network, but no way out of it without a program
// that carries packets (pasta, slirp4netns), and hardly a cluster's user has one.
//
// Machines outlive the daemon; they hold a lease at its door. What is known of them is in Dir: gangs/TOKEN.json, written before the first process
// of a gang starts, and machines/ID/, which goes with the machine. The file "process" there says which process the machine is, by number and time
// of start. It is made by that process itself (package inside), and by one only: so Create may be asked again at any point, and starts nothing twice.
//
// Start reading at create.go.
package local
