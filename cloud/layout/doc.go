// Package layout is the arithmetic of a job's size, as slurmctld and srun do it: which of the free nodes a job gets and how much of each, how
// many tasks each of them runs, and which task of a step runs where. It is pure.
//
// [Fit] is for the driver of a rented pool, [Place] for srun on its nodes.
package layout
