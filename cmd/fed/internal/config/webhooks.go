package config

import (
	"fmt"

	"fsub/federation/webhooks"
)

// Webhooks says where users may have events posted to.
type Webhooks struct {
	// Names of hosts, *.DOMAIN, addresses, and networks as ADDRESS/BITS. A name may stand for any address but those of this machine and of its link, which have to be listed. Not set: webhooks are off.
	Allow []string `yaml:"allow,omitempty"`
}

func (c *Webhooks) check() error {
	if _, err := webhooks.ReadAllowed(c.Allow); err != nil {
		return fmt.Errorf("webhooks: allow: %w", err)
	}
	return nil
}
