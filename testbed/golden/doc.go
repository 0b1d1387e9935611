// Package golden runs the command lines of real client programs (submitit, Snakemake, Nextflow ...) through our own binary
// and compares exit code, stdout and stderr with what Slurm 24.11 answered, which was recorded line by line on a site
// with a dozen jobs. world_test.go rebuilds that site and those jobs under a real API; mask_test.go says what cannot be the
// same (times, host names); exceptions_test.go is the table of every line that differs on purpose, with the reason.
//
// These recordings do not belong to the project: FSUB_ORACLE names the folder that holds them, and without it the test is skipped. TestNames
// has its own: what the commands of a real site said to each name that a task of an array has.
//
//	go test ./testbed/golden -v                  all lines, with a summary for each command
//	go test ./testbed/golden -v -run '/squeue'   those of one command
package golden
