// Package steps runs the steps of a job, which srun asks for, on the machines of its gang. Every agent has
// one [Service]. The job's srun (package srun of cmd/fed-agent) connects to the Service of its own machine
// through a unix socket below the run's directory; the Service of the gang's first machine assigns
// numbers, nodes and CPUs to steps ([fsub/cloud/layout.Place]) and starts them on all nodes at once.
//
//	srun -- unix socket --> Service of its node --> Service of the first node ==> Service of each node of the step -- socket pair --> step daemon
//
// Services connect to each other over TLS with two certificates made from the gang's key: with the key one
// is trusted, without it not; there is no authority and nothing to renew. Package wire defines the frames;
// they are the same on every connection, so most are passed on unread.
//
// The step daemon ([Daemon]) is one process per step and node. It has the user's identity and limits,
// starts the tasks, reads their output and adopts what they leave behind, so that nothing of a step
// outlives it.
package steps
