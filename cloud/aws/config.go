package aws

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"

	"fsub/cloud/agentapi"
	"fsub/cloud/kind"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/decision"
)

// Config is what is rented from Amazon, in one region. Credentials are found as Amazon's own
// tools find them, or in the file named here; none stands in this file.
type Config struct {
	Region `yaml:",inline"`
	// Instance types: g6.xlarge, or with a star g6.*. Those of an architecture that agents.binary is not for are left out.
	Types []string `yaml:"types"`
	// Markets to rent in. on-demand and spot if not set.
	Markets []provider.Market `yaml:"markets,omitempty"`
	// Offer each type also in whichever zone Amazon finds it, all machines of a job in one.
	AnyZone bool `yaml:"any_zone,omitempty"`
	// IDs of capacity reservations and capacity blocks (cr-...), offered while they are active.
	Reservations []string `yaml:"reservations,omitempty"`
	// Dollars per hour on demand by type, or by types with a star, where a contract differs from
	// Amazon's list.
	Contract map[string]decision.Dollars `yaml:"prices,omitempty"`
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
	// Expected interruptions of a spot machine per hour, until more is known of its offering
	// (docs/prices.md). 0.05 if not set.
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

	Site       federation.SiteName `yaml:"-"`
	Federation string              `yaml:"-"` // the tag by which our machines are known from others': not empty
	// Installation is a tag of this daemon's machines, by which it knows them from those of another one with the same names; "": there is no other.
	Installation string `yaml:"-"`
	// Arches are the architectures that there is an agent for ("x86_64", "arm64"); none: all.
	Arches []string `yaml:"-"`
	// RootDevice is the root volume's name; needed with VolumeGiB where the image is "resolve:ssm:...".
	RootDevice string `yaml:"-"`

	Prices *prices.Catalogue `yaml:"-"` // nil: one of its own, kept in memory
	HTTP   sdk.HTTPClient    `yaml:"-"` // nil: the SDK's
	Logger *slog.Logger      `yaml:"-"` // nil: slog.Default()
	Now    func() time.Time  `yaml:"-"` // nil: time.Now
}

// Region is the region to rent in. Machines that are put near to each other and have EFA get no public address (EC2 gives none to machines with
// several interfaces): they reach the daemon from within the VPC, or by a NAT gateway.
type Region struct {
	// Region. Not set: that of the environment, or of the machine that runs the daemon.
	Name string `yaml:"region,omitempty"`
	// Zones, by name. Not set: all of the region that have a subnet.
	Zones []string `yaml:"zones,omitempty"`
	// ID of the VPC. The default one if not set.
	VPC string `yaml:"vpc,omitempty"`
	// IDs of subnets. Not set: the default ones of the VPC.
	Subnets []string `yaml:"subnets,omitempty"`
	// IDs of security groups. Not set: the VPC's default one.
	SecurityGroups []string `yaml:"security_groups,omitempty"`
}

// DefaultInterrupts is the rate of spot interruptions per hour that is assumed where none is
// configured. It is a cautious guess: AWS's Spot Instance Advisor tells monthly frequencies in
// classes up to "> 20 %" for a type in a region, not a rate per hour, and no API.
const DefaultInterrupts = 0.05

// Boot is what machines of EC2 need in their boot data (cloud.Config.Boot).
func Boot() agentapi.Boot { return agentapi.Boot{Metadata: "ec2", PowerOff: true} }

var defaultImages = map[string]string{
	"x86_64":     "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
	"arm64":      "resolve:ssm:/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-arm64",
	"x86_64/gpu": "resolve:ssm:/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id",
	"arm64/gpu":  "resolve:ssm:/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-amazon-linux-2023/latest/ami-id",
}

// The default images are Amazon Linux. Its root volume has 8 GiB, and its /tmp is in memory: too little for jobs.
const (
	defaultRoot      = "/dev/xvda"
	defaultVolumeGiB = 100 // more than the deep learning image itself has
)

// tagKey is what the metadata service can show of a tag: it would refuse the launch for another.
var tagKey = regexp.MustCompile(`^[A-Za-z0-9+\-=.,_:@]{1,128}$`)

// driverless are the types that the default image for GPUs, with the open driver of NVIDIA, cannot serve: that begins with Turing (T4).
var driverless = []provider.Driverless{
	{Types: "p3*.*", Why: "NVIDIA's open driver does not know its V100"}, {Types: "p2.*", Why: "NVIDIA's open driver does not know its K80"},
	{Types: "g3*.*", Why: "NVIDIA's open driver does not know its M60"}, {Types: "g4ad.*", Why: "its GPUs are AMD's"},
}

// Missing implements kind.Settings.
func (*Config) Missing() string { return "aws is missing: at least the types that may be rented" }

// Paths implements kind.Settings.
func (c *Config) Paths() []*string { return []*string{&c.CredentialsFile} }

// Check implements kind.Settings.
func (c *Config) Check(address string) error {
	if c.Endpoint == "" {
		if err := kind.CheckAddress(address); err != nil {
			return err
		}
	}
	return c.check()
}

var markets = []provider.Market{provider.OnDemand, provider.Spot, provider.Reserved, provider.Block}

func (c *Config) check() error {
	switch {
	case len(c.Types) == 0 && len(c.Reservations) == 0:
		return errors.New("aws: types is missing: the instance types that may be rented")
	case c.VolumeGiB < 0 || c.VolumeGiB > 65536:
		return fmt.Errorf("aws: invalid volume_gib %d: want 1 to 65536", c.VolumeGiB)
	case c.Boot < 0 || !provider.Amount(c.SpotInterrupts):
		return errors.New("aws: boot and spot_interrupts must not be negative")
	}
	for k, v := range c.Tags {
		if !tagKey.MatchString(k) || strings.HasPrefix(k, "aws:") || strings.HasPrefix(k, tagPrefix) || len(v) > 256 {
			return fmt.Errorf("aws: invalid tag %q: keys are 1 to 128 of letters, digits and +-=.,_:@ (the metadata service shows them), none begins with aws: or %s; values have up to 256 characters", k, tagPrefix)
		}
	}
	if err := cmp.Or(provider.CheckMarkets("aws", c.Markets, markets, ""), provider.CheckPrices("aws", c.Contract, "types", c.Types)); err != nil {
		return err
	}
	for _, t := range c.Types {
		if !strings.Contains(t, ".") || strings.ContainsAny(t, ", /") {
			return fmt.Errorf("aws: invalid type %q: want it as EC2 writes it: g6.xlarge, or g6.*", t)
		}
		if why := provider.Undriven(driverless, t); why != "" && c.undriven(t, "x86_64") != "" {
			return fmt.Errorf("aws: type %s: %s, and the default image has no other: name one with its driver in images, under the type", t, why)
		}
	}
	for _, r := range c.Reservations {
		if !strings.HasPrefix(r, "cr-") {
			return fmt.Errorf("aws: invalid reservation %q: IDs of capacity reservations and blocks begin with cr-", r)
		}
	}
	return c.checkImages()
}

func (c *Config) checkImages() error {
	for _, key := range slices.Sorted(maps.Keys(c.Images)) {
		if _, ok := defaultImages[key]; !ok && !strings.Contains(key, ".") {
			return fmt.Errorf("aws: images: invalid key %q: want an architecture (x86_64, arm64, with /gpu for types with GPUs) or types: p3.*", key)
		}
		if _, err := parseImage(c.Images[key]); err != nil {
			return err
		}
	}
	if len(c.Reservations) > 0 {
		return nil // whose types are not known here
	}
	return provider.CheckImages("aws", c.Images, "types", c.Types)
}

// Facts implements kind.Settings. The list price of a disk is that of gp3 in us-east-1, of 2026-06.
func (c *Config) Facts() kind.Facts {
	f := kind.Facts{Place: "aws:" + c.Region.Name, DiskGiB: c.VolumeGiB, DiskGiBMonth: 0.08}
	if c.VolumeGiB == 0 && len(c.Images) == 0 {
		f.DiskGiB = defaultVolumeGiB
	}
	if c.Endpoint != "" {
		f.DiskGiBMonth = 0
	}
	return f
}

// Open implements kind.Settings.
func (c *Config) Open(ctx context.Context, s kind.Setup) (provider.Provider, agentapi.Boot, error) {
	own := *c
	own.Site, own.Federation, own.Installation, own.Prices, own.Logger = s.Site, s.Federation, s.Installation, s.Prices, s.Logger
	var err error
	if own.Arches, err = agentArches(s.Agent); err != nil {
		return nil, agentapi.Boot{}, err
	}
	p, err := New(ctx, own)
	if err == nil && s.Prices != nil {
		s.Prices.Add(p.PriceSource())
	}
	return p, Boot(), err
}

// load makes the SDK's configuration. Credentials are fetched with the SDK's own retries: one hiccup of STS is not to deny the cloud.
func (c *Config) load(ctx context.Context) (sdk.Config, error) {
	var opts []func(*config.LoadOptions) error
	if c.Profile != "" {
		opts = append(opts, config.WithSharedConfigProfile(c.Profile))
	}
	if c.CredentialsFile != "" {
		opts = append(opts, config.WithSharedCredentialsFiles([]string{c.CredentialsFile}))
	}
	if c.HTTP != nil {
		opts = append(opts, config.WithHTTPClient(c.HTTP))
	}
	cfg, err := config.LoadDefaultConfig(ctx, opts...)
	if err != nil {
		return cfg, fmt.Errorf("aws: read the SDK's configuration: %s", scrub(err.Error()))
	}
	if c.CredentialsFile != "" {
		info, err := os.Stat(c.CredentialsFile)
		if err == nil {
			err = c.fileHasProfile(ctx)
		}
		if err != nil {
			return cfg, fmt.Errorf("aws: credentials_file: %w", err)
		}
		cfg.Credentials = &fileCredentials{path: c.CredentialsFile, at: info.ModTime(), size: info.Size(), read: cfg.Credentials,
			load: func(ctx context.Context) (sdk.CredentialsProvider, error) {
				if err := c.fileHasProfile(ctx); err != nil {
					return nil, err
				}
				again, err := config.LoadDefaultConfig(ctx, opts...)
				return again.Credentials, err
			}}
	}
	return cfg, nil
}

// region asks the metadata service where this machine is, for a daemon that runs in EC2.
func region(ctx context.Context, cfg sdk.Config) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	out, err := imds.NewFromConfig(cfg).GetRegion(ctx, &imds.GetRegionInput{})
	if err != nil {
		return "", fmt.Errorf("aws: no region: name one in the configuration, or in AWS_REGION (the metadata service does not answer)")
	}
	return out.Region, nil
}
