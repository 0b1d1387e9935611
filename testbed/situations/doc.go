// Package situations submits real scripts to a daemon over three real Slurm sites of three versions, and shows in docs/situations.md where each job goes and why.
// With -update it writes the page anew.
package situations
