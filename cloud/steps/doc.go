// Package steps runs the steps of a job on the machines of its gang: what srun asks for. Every agent holds one [Service]. The job's srun (package
// srun of cmd/fed-agent) speaks to the Service of its own machine through a unix socket below the run's directory; the Service of the gang's first machine
// gives steps their numbers, nodes and CPUs ([fsub/cloud/layout.Place]) and starts them on all nodes at once.
//
//	srun -- unix socket --> Service of its node --> Service of the first node ==> Service of each node of the step -- socket pair --> step daemon
//
// Services speak to each other over TLS whose two certificates are made of the gang's key: whoever has the key is in, nobody else; there is no
// authority and nothing to renew. Package wire holds the frames; they are the same on every line, so most of them are passed on unread.
//
// The step daemon ([Daemon]) is one process per step and node. It has the user's identity and limits, starts the tasks, reads their output and adopts
// what they leave behind, so that nothing of a step outlives it.
package steps
