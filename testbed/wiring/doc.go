// Package wiring tests, on real Slurm with topology/tree and topology/block, that a gang gets nodes at least as close as we predict, and
// that distance chooses the site. FSUB_FULL=1 asks slurmctld more often.
package wiring
