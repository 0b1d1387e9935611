// Package pmix lets the processes of an MPI program that speaks PMIx (Open MPI) find each other. It
// is a server for the clients of one node: it tells them of their step, keeps what they put,
// exchanges it with the other nodes at a fence or when it is asked for, gives them what others have
// put, and has removed what they want removed at their end ([Cleaner]). Nothing else of PMIx is
// there, as under mpi/pmix of Slurm: no names, no process sets or groups, no spawning, no queries;
// such requests are answered with "not supported", which programs know how to bear. Events stay in
// their process.
//
// A client of PMIx speaks as its server does: it takes the newest of the versions that its
// environment offers and that it knows. This server offers that of PMIx 3 alone, which clients from
// 3 to 5 know (tried: 4.2 and 5.0). There numbers have a fixed size, in network order, and values
// carry their type. What clients put is passed on as it came.
//
// There is one [Server] a node and step. It reaches the other nodes through [Up], which the caller
// brings, as the clients' connections.
package pmix
