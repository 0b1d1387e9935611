// Package slurm talks to one Slurm cluster through its slurmrestd. [Driver] is that cluster as the controller sees it
// (federation.Driver, in pinned mode: jobs run there under their federated IDs); [Open] makes one from a [Config].
//
// Start with driver.go. client.go holds what all calls share (token, version, RPC budget, what an answer is worth), v42.go
// is the translation of one family of API versions; a further family gets a file of its own beside it. The shapes are in
// package wire. What a job should be is decided elsewhere: this package only carries it.
package slurm
