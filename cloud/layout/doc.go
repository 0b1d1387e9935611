// Package layout is the arithmetic of a step, as slurmctld and srun do it: which of its job's nodes it gets and how much of each, and which task runs where.
// It is pure. What a job gets of a site's nodes is package demand's.
package layout
