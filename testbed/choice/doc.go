// Package choice holds tests over real Slurm sites that others use too, of which the federation may choose: which queue a job of ours joins, and
// whether it leaves it for a better one. They take many minutes, so they run with FSUB_FULL=1 only.
package choice
