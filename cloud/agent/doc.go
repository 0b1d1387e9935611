// Package agent is the daemon's agent on a rented machine: it registers, asks for orders, runs jobs
// as slurmd would, streams their output, reports, and ends itself when its lease is not renewed.
// Package agentapi defines the messages.
//
// [Agent.Run] is the life of the machine: poll.go asks for orders and carries them out, report.go
// reports the results, lease.go watches that the daemon is there, notice.go that the provider does
// not take the machine back. A goroutine for each run (run.go) prepares, starts, ends and reports
// it; package keeper holds its processes together. Package jobenv makes the environment of the
// job's processes, package steps is behind srun.
//
// Orders are complete: the agent keeps nothing on disk that it would have to remember. If it dies,
// its runs die with it.
package agent
