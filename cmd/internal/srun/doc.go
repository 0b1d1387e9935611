// Package srun is srun and sbcast on rented nodes. It reads the command line and the environment as
// Slurm's srun does within a job, asks the step service of its machine (package steps) for a step
// through the socket that the job's environment names, and stands between the terminal and the
// tasks: their output, srun's input, signals, and the words and the exit code at the end.
//
// Start reading at main.go. What is said and when was compared with srun 24.11.
package srun
