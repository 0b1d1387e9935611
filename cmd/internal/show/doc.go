// Package show is what the listing commands (squeue, sinfo, sacct) have in common: columns
// described by -o and -O strings ([Layout]), times, durations and states in Slurm's spelling, and
// calls to the daemon whose failures read like Slurm's ([Client]). What a column holds is each
// command's own affair.
package show
