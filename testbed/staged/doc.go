// Package staged tries on real Slurm what is promised for a site that does not see the user's files: the script runs
// unchanged, its output and results come home as if it had run in its own directory, and it can be watched meanwhile. kept_test.go
// adds a second site and three stand-ins for clouds: what jobs keep goes with them from one to the other, whatever is taken from them.
// In leaves_test.go the planner itself moves running jobs between two sites: before a maintenance, from a drained node, for a gang.
package staged
