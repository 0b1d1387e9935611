// Package jobenv says what a job finds on a rented machine: the variables of its batch script and
// of the tasks of its steps, and the names of its output files, all of it made of the
// [fsub/cloud/agentapi.Launch] and of what the machine knows of itself. It is pure.
//
// A script cannot tell by its environment whether slurmd started it or we: what is there and what
// is absent are those of Slurm 24.11.
package jobenv
