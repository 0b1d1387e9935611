// Package shapes runs scripts as people have them through the federation, at a real Slurm site, on this machine and through a cloud, and compares what
// they leave behind: files, their text, what they saw in their environment, and how their jobs ended.
//
// The scripts are testdata: NAME.sbatch is submitted as it is; where there is a NAME.sh, that is called instead, and submits. What two runs of one
// script at the same site differ in (numbers of jobs, names of nodes, times) is masked, and nothing else: that two runs at the real site compare equal is the
// first test.
package shapes
