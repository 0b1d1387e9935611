// Package starts holds forecasts of starts against starts, on real Slurm sites of two versions that others fill too: local jobs that the sites' own users submit there, sites that
// are full for a while, an account whose budget suffices only now and then, one that may run a single job, begin times and dependencies.
//
// Each job is asked for three times over, when it is submitted and once more while it waits: by fsub --test-only, squeue --start and fed explain, which must agree. When all have
// run, the sites' accounting tells who held which nodes, and so the earliest instant at which a job could have started at all. No p90 may lie before that.
//
// FSUB_FULL=1 makes 500 starts, in about 20 minutes.
package starts
