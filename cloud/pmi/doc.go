// Package pmi lets the processes of an MPI program find each other: it speaks to the tasks of a
// step the two simple wire protocols of PMI, as the plugin mpi/pmi2 of Slurm does. A task finds an
// open socket (PMI_FD); its first line says which protocol follows. In PMI-1 every message is a
// line of words "name=value"; in PMI-2 it is a length in six characters and fields "name=value;".
// Both do the same few things: put a value under a name, wait until all tasks of the step have come
// so far (a fence), get what the others have put, publish names of ports.
//
// There is one [Server] a node and step. What its tasks have put goes to the other nodes at a
// fence, through [Up], which the caller brings: this package opens no connection, and knows of
// nodes only how ranks are spread over them ([Mapping]).
package pmi
