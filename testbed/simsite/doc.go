// Package simsite is a simulated Slurm site in process: nodes, partitions, users, a queue with a scheduler, accounting
// records, and the HTTP paths of slurmrestd in front. It is a small working implementation with fault switches, for tests
// that need thousands of jobs, virtual time, or failures that a real cluster does not show on demand.
//
// Start with [Site]. [New] makes one from a [Config]; [Site.Handler] and [Site.Transport] speak slurmrestd (shape v0.0.42)
// with the real driver of package slurm; [Site.Inject] sets [Fault]s; [Site.KillController] and [Site.StartController]
// lose what a real controller loses. [Site.Runs] tells how often a job really ran.
//
// What a job does is told by its script: a line "#SIM run=30s exit=0", or a few lines of plain shell that are understood
// (see [ParseScript]). Nothing is executed and no file is written.
//
// Time is a [Clock]. With a [VirtualClock] nothing happens between calls: everything that has become due is carried out,
// in order, at the start of the next call. All chance comes from Config.Seed, so one sequence of calls gives one history.
//
// Quirks are those seen on real 24.11 and 26.05. Left out: dependencies (the federation sees to them itself), preemption,
// heterogeneous jobs, QOS limits, fair-share, licenses and the output of jobs.
package simsite
