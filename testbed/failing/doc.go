// Package failing holds tests over real Slurm sites whose nodes fail: what cannot start there, or has been forgotten there, runs elsewhere, and no
// job is left held or waiting for nodes that are gone.
package failing
