// Package agent is what a rented machine does for the daemon: it says hello, asks for orders, runs jobs as slurmd would, streams their output, reports, and
// ends itself when nobody renews its lease. The language is that of package agentapi.
//
// [Agent.Run] is the life of the machine: poll.go asks for orders and carries them out, report.go tells what became of them, lease.go watches that
// somebody is there, notice.go that the provider lets the machine be. A run (run.go) is prepared, started, ended and told of by a goroutine of its own;
// package keeper holds its processes together. What the job's processes see is package jobenv's, srun is package steps'.
//
// Orders are the whole truth: the agent keeps nothing on disk that it would have to remember. If it dies, its runs die with it.
package agent
