package config

import (
	"errors"
	"fmt"
	"time"

	"fsub/cloud/provider"
)

// azureKind rents machines from Microsoft Azure.
var azureKind = kind{
	name:    "azure",
	missing: "azure is missing: at least subscription, resource_group, location, subnet and the sizes that may be rented",
	section: func(s *Site) section {
		if s.Azure == nil {
			return nil
		}
		return s.Azure
	},
}

// Azure is what is rented from Microsoft Azure, in one region and resource group. Credentials
// are found as Azure's own tools find them, or in the file named here; none stands in this file.
type Azure struct {
	// ID of the subscription that pays.
	Subscription string `yaml:"subscription"`
	// Resource group in which machines are made. It exists, and is best for fsub alone.
	ResourceGroup string `yaml:"resource_group"`
	// Region by its short name: eastus.
	Location string `yaml:"location"`
	// Zones, by number. Not set: all that have the size.
	Zones []string `yaml:"zones,omitempty"`
	// Offer each size also in whichever zone Azure finds it.
	AnyZone bool `yaml:"any_zone,omitempty"`
	// Subnet of the machines: NETWORK/SUBNET in the resource group, or an ID.
	Subnet string `yaml:"subnet"`
	// Security group of the machines, by name or ID. Not set: that of the subnet.
	SecurityGroup string `yaml:"security_group,omitempty"`
	// Machines get a public address each. Otherwise the subnet needs a way out of its own.
	PublicIP bool `yaml:"public_ip,omitempty"`
	// Sizes: Standard_ND96isr_H100_v5, or with a star Standard_NC*_H100_v5.
	Sizes []string `yaml:"sizes"`
	// Markets to rent in: on-demand, spot. Both if not set.
	Markets []string `yaml:"markets,omitempty"`
	// Names of capacity reservation groups of the resource group, offered while they hold something.
	Reservations []string `yaml:"reservations,omitempty"`
	// Dollars per hour on demand by size, or by sizes with a star, where a contract differs from
	// Azure's list, or the size is not in it.
	Prices map[string]float64 `yaml:"prices,omitempty"`
	// Images by size (with stars) or architecture (x86_64, arm64, x86_64/gpu):
	// PUBLISHER:OFFER:SKU:VERSION, or an ID. Not set: Ubuntu 24.04, and Microsoft's HPC image of it for
	// GPUs, which has no driver for parts of an A10 and for AMD's GPUs.
	Images map[string]string `yaml:"images,omitempty"`
	// Size of the system's disk. Not set: that of the image, and 128 for the default images.
	DiskGiB int `yaml:"disk_gib,omitempty"`
	// ID of a user-assigned identity. Every job on the machines can use its rights. None if not set.
	Identity string `yaml:"identity,omitempty"`
	// Public key that may log in by ssh as fsub. None if not set.
	SSHKey string `yaml:"ssh_key,omitempty"`
	// Further tags of all that is made.
	Tags map[string]string `yaml:"tags,omitempty"`
	// Expected interruptions of a spot machine per hour. 0.05 if not set.
	SpotInterrupts float64 `yaml:"spot_interrupts,omitempty"`
	// Expected time from the request to the first word of the agent. 3m if not set.
	Boot time.Duration `yaml:"boot,omitempty"`
	// File with the credentials of an application, as az ad sp create-for-rbac prints them. Not set:
	// where Azure's own tools look.
	CredentialsFile string `yaml:"credentials_file,omitempty"`
	// URL that stands in for Azure Resource Manager, for tests. The password of credentials_file is its token.
	Endpoint string `yaml:"endpoint,omitempty"`
}

func (a *Azure) check() error {
	for _, k := range []struct{ key, value string }{
		{"subscription", a.Subscription}, {"resource_group", a.ResourceGroup}, {"location", a.Location}, {"subnet", a.Subnet},
	} {
		if k.value == "" {
			return fmt.Errorf("azure: %s is missing", k.key)
		}
	}
	for _, m := range a.Markets {
		if m != string(provider.OnDemand) && m != string(provider.Spot) {
			return fmt.Errorf("azure: invalid market %q: want on-demand or spot; reservations are listed by their group", m)
		}
	}
	if err := checkPrices("azure", a.Prices, "sizes", a.Sizes); err != nil {
		return err
	}
	if len(a.Reservations) == 0 {
		if err := checkImages("azure", a.Images, "sizes", a.Sizes); err != nil {
			return err
		}
	}
	switch {
	case len(a.Sizes) == 0 && len(a.Reservations) == 0:
		return errors.New("azure: sizes is missing: the sizes of machines that may be rented")
	case a.Boot < 0 || !number(a.SpotInterrupts):
		return errors.New("azure: boot and spot_interrupts are not negative")
	case a.Endpoint != "" && a.CredentialsFile == "":
		return errors.New("azure: endpoint needs credentials_file: no real credential is sent to what stands in for Azure")
	}
	return nil
}

func (a *Azure) paths() []*string { return []*string{&a.CredentialsFile} }
