//go:build nocloud

package clouds

import "fsub/cloud/local"

// Sections are the sections of a site's configuration that say what to rent, at most one of them.
type Sections struct {
	// For kind local: the nodes on this machine.
	Local *local.Settings `yaml:"local,omitempty"`
}

// Without is what to add to an error about a kind or key that is not known.
const Without = "; this fed was built without clouds: build it without -tags nocloud"
