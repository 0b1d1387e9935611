package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"fsub/cloud/provider"
)

// awsKind rents machines from Amazon.
var awsKind = kind{
	name:    "aws",
	missing: "aws is missing: at least the types that may be rented",
	section: func(s *Site) section {
		if s.AWS == nil {
			return nil
		}
		return s.AWS
	},
}

// AWS is what is rented from Amazon, in one region. Credentials are found as Amazon's own
// tools find them, or in the file named here; none stands in this file.
type AWS struct {
	// Region. Not set: that of the environment, or of the machine that runs the daemon.
	Region string `yaml:"region,omitempty"`
	// Zones, by name. Not set: all of the region that have a subnet.
	Zones []string `yaml:"zones,omitempty"`
	// ID of the VPC. The default one if not set.
	VPC string `yaml:"vpc,omitempty"`
	// IDs of subnets. Not set: the default ones of the VPC.
	Subnets []string `yaml:"subnets,omitempty"`
	// IDs of security groups. Not set: the VPC's default one.
	SecurityGroups []string `yaml:"security_groups,omitempty"`
	// Instance types: g6.xlarge, or with a star g6.*. Those of an architecture that agents.binary is not for are left out.
	Types []string `yaml:"types"`
	// Markets to rent in. on-demand and spot if not set.
	Markets []string `yaml:"markets,omitempty"`
	// Offer each type also in whichever zone Amazon finds it, all machines of a job in one.
	AnyZone bool `yaml:"any_zone,omitempty"`
	// IDs of capacity reservations and capacity blocks (cr-...), offered while they are active.
	Reservations []string `yaml:"reservations,omitempty"`
	// Dollars per hour on demand by type, or by types with a star, where a contract differs from
	// Amazon's list.
	Prices map[string]float64 `yaml:"prices,omitempty"`
	// Images by type (with stars) or architecture (x86_64, arm64, x86_64/gpu): ami-...,
	// resolve:ssm:/PARAMETER, or OWNER/NAME* for the newest that matches. Not set: Amazon Linux 2023,
	// and AWS's deep learning base image for GPUs, whose driver knows no GPUs before the T4.
	Images map[string]string `yaml:"images,omitempty"`
	// Size of the root volume. Not set: that of the image, and 100 for the default images, whose own is 8.
	VolumeGiB int `yaml:"volume_gib,omitempty"`
	// Name or ARN of the instance profile. Every job on the machines can use its credentials.
	InstanceProfile string `yaml:"instance_profile,omitempty"`
	// Name of an EC2 key pair that may log in by ssh.
	KeyName string `yaml:"key_name,omitempty"`
	// Further tags of all that is made.
	Tags map[string]string `yaml:"tags,omitempty"`
	// Expected interruptions of a spot machine per hour. 0.05 if not set.
	SpotInterrupts float64 `yaml:"spot_interrupts,omitempty"`
	// Expected time from the request to the first word of the agent. 90s if not set.
	Boot time.Duration `yaml:"boot,omitempty"`
	// Profile in Amazon's shared configuration files.
	Profile string `yaml:"profile,omitempty"`
	// File with credentials, as Amazon's own tools write it. It is read again when it changes. Not set: where these look.
	CredentialsFile string `yaml:"credentials_file,omitempty"`
	// URL that stands in for EC2, for tests.
	Endpoint string `yaml:"endpoint,omitempty"`
	// URL that stands in for Amazon's price list, for tests.
	PricingEndpoint string `yaml:"pricing_endpoint,omitempty"`
}

func (a *AWS) check() error {
	for _, m := range a.Markets {
		if !slices.Contains(markets, m) || m == string(provider.Flex) {
			return fmt.Errorf("aws: invalid market %q: want on-demand, spot, reserved or block", m)
		}
	}
	if err := checkPrices("aws", a.Prices, "types", a.Types); err != nil {
		return err
	}
	if len(a.Reservations) == 0 {
		if err := checkImages("aws", a.Images, "types", a.Types); err != nil {
			return err
		}
	}
	switch {
	case len(a.Types) == 0 && len(a.Reservations) == 0:
		return errors.New("aws: types is missing: the instance types that may be rented")
	case a.Boot < 0 || !number(a.SpotInterrupts):
		return errors.New("aws: boot and spot_interrupts are not negative")
	}
	return nil
}

func (a *AWS) paths() []*string { return []*string{&a.CredentialsFile} }
