// Package health compares what operators of the federation want of a node with what its site shows, and says what to do. It is pure: [Decide]
// is the table, and [Merge] shows a site as it will be once it has heard of a drain. Who carries the actions out is
// package controller.
//
// The rule is that everybody ends only his own drains. Ours are known by their reasons, which begin with the federation's name. [Stale] is the
// exception: some drains that slurmctld sets by itself and never ends, once their cause is proven to be gone.
package health
