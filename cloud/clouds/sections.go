//go:build !nocloud

package clouds

import (
	"fsub/cloud/aws"
	"fsub/cloud/azure"
	"fsub/cloud/gcp"
	"fsub/cloud/local"
	"fsub/cloud/tpu"
)

// Sections are the sections of a site's configuration that say what to rent, at most one of them. A new cloud is a package with its [kind.Settings],
// and a field here.
type Sections struct {
	// For kind local: the nodes on this machine.
	Local *local.Settings `yaml:"local,omitempty"`
	// For kind aws: what to rent from Amazon.
	AWS *aws.Config `yaml:"aws,omitempty"`
	// For kind gcp: what to rent from Google Compute Engine.
	GCP *gcp.Config `yaml:"gcp,omitempty"`
	// For kind tpu: which slices of Cloud TPU to rent from Google.
	TPU *tpu.Config `yaml:"tpu,omitempty"`
	// For kind azure: what to rent from Microsoft Azure.
	Azure *azure.Config `yaml:"azure,omitempty"`
}

// Without is what to add to an error about a kind or key that is not known.
const Without = ""
