// Package slurm talks to one Slurm cluster through its slurmrestd. [Driver] is that cluster as the controller sees it
// (federation.Driver); [Open] makes one from a [Config]. Where the token may choose job IDs the site is pinned: jobs run
// there under their federated IDs. Else it is mapped: mapped.go and find.go join its numbers with ours by the attempts' keys.
//
// Start with driver.go. client.go holds what all calls share (token, version, RPC budget, what an answer is worth), v42.go
// is the translation of one family of API versions, the files v38*.go that of Slurm 22.05 to 23.11; a further family gets
// files of its own beside them. The shapes are in package wire. What a job should be is decided elsewhere: this package only carries it.
package slurm
