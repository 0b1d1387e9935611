// Package sim runs a whole federation in virtual time: the real controller, the real planner and the real store over
// simulated sites, with faults and crashes drawn from a seed. [Run] is all there is: it plays one history and checks, at
// every step and at the end, what must never happen (check.go). Equal configurations play equal histories, so a failure is
// replayed by its seed.
package sim
