// Package realjob runs single jobs on a real Slurm site with nothing else on it, and tells what slurmctld gave them and what their scripts found. The
// arithmetic of rented machines (federation/demand, cloud/layout, cloud/jobenv) is held to it.
package realjob
