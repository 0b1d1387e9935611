package config

import "time"

// Books is the ledger of what jobs used and cost, at all sites, however they were submitted.
type Books struct {
	// How far back the accounting of a site is read when it is read for the first time.
	History time.Duration `yaml:"history,omitempty"`
	// Read the accounting of Slurm sites too, so that jobs count that were submitted there. A site is asked for little at a time, and one thing after the
	// other; where it is slow or does not answer, it is left alone for a while.
	Sites bool `yaml:"sites,omitempty"`
}
