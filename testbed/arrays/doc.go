// Package arrays submits random arrays twice to the same real site, by its own sbatch and by ours, does the same with the tasks of both,
// and compares what there is to see: what commands say, environments of the tasks, output files, states, lines of sacct. It has tests only.
//
// A [plan] says what is done, in words that a failed test prints. Nothing in it depends on which task is faster: arrays are held until all is
// said that concerns tasks that wait, and tasks that something is done with while they run wait for a file. So a difference is a difference.
//
// A normal run tries a few arrays at Slurm 24.11, FSUB_FULL=1 200 of them, and some at 26.05 and 22.05.
package arrays
