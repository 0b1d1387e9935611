// Package local is a cloud.Provider whose machines are processes of this machine: no cloud, no Slurm, no root needed.
//
// A machine is an agent with all that descends from it, in namespaces of its own as far as the kernel allows (see [Isolation]): a PID
// namespace, so that a machine that ends takes every process with it; a mount namespace with an /etc/hosts of its own, so that the names of a gang resolve, and a
// /dev/shm of its own, since libraries name their segments there as if a node had it to itself (NCCL, Gloo, Open MPI); a host name. /tmp is the host's: users submit from there,
// and find their output there. For root that always works, unless it is root of a container; for others it takes user namespaces. Files of other users are shown as nobody's
// there, and setuid programs do not work. Where nothing of it is allowed the agent runs under a supervisor that kills what it leaves behind; host names do
// not resolve there.
//
// The network is the host's, unless the configuration says otherwise: each machine has an address of its own out of 127.0.0.0/8. What jobs do most with a network is
// to fetch data, and on the host's that works whatever way out there is: a proxy on localhost, a stub resolver on 127.0.0.53, a VPN. With
// [NetworkNamespace], for root, a machine has its own network with an address on a bridge: ports do not collide, and a machine can be cut off. It has no way
// out but what the host forwards for the bridge; the package changes neither firewall nor forwarding.
//
// Machines outlive the daemon; they hold a lease at its door. What is known of them is in Dir: gangs/TOKEN.json, written before the first process
// of a gang starts, and machines/ID/, which goes with the machine. The file "process" there says which process the machine is, by number and time
// of start. It is made by that process itself (package inside), and by one only: so Create may be asked again at any point, and starts nothing twice.
//
// Start reading at create.go.
package local
