// Package crowded holds tests over real Slurm sites that others use too: beside our jobs a local user keeps each site's queue full. What is
// handed to fsub must start there about as soon as what is handed to the site's own sbatch.
//
// FSUB_FULL=1 measures more often, and at sites of three versions of Slurm.
package crowded
