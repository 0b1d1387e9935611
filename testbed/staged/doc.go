// Package staged tries on real Slurm what is promised for a site that does not see the user's files: the script runs
// unchanged, its output and results come home as if it had run in its own directory, and it can be watched meanwhile.
package staged
