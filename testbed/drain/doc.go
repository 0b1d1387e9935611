// Package drain holds tests over real Slurm sites of three releases: nodes that are drained and resumed by us, by a site's admin and by slurmctld,
// while controllers and the daemon are killed, and drains that slurmctld leaves behind. FSUB_FULL=1 runs them all, on sites of many nodes. 22.05, whose slurmrestd cannot update nodes, is told by node_command.
package drain
