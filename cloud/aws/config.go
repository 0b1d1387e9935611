package aws

import (
	"context"
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
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
)

// Config is what to rent, and where. It holds no credential.
type Config struct {
	Site       federation.SiteName
	Federation string // the tag by which our machines are known from others': not empty
	// Installation is a tag of the daemon's own, by which it knows its machines from those of another one with the same names; "": there is no other.
	Installation string
	// Arches are the architectures that there is an agent for ("x86_64", "arm64"); none: all.
	Arches []string

	Regions []Region // none: the region of the environment, the shared configuration or the metadata service
	Types   []Type   // at least one, or Reservations
	// Reservations are IDs of capacity reservations and capacity blocks ("cr-...") to be offered
	// while they are active.
	Reservations []string
	// Contract has on-demand prices per hour of one machine, by type or pattern, where a contract makes them others
	// than the list's: see [provider.Choose].
	Contract map[string]federation.Dollars
	// AnyZone offers each type once more per region and market, in whichever of the zones AWS finds
	// it (the whole gang in one).
	AnyZone bool

	// Images are what machines boot, by type or pattern ("p3.*"), or by architecture ("x86_64", "arm64"), where
	// "x86_64/gpu" is preferred for types with GPUs. Each is "ami-...", "resolve:ssm:/PARAMETER", or "OWNER/NAME" where NAME
	// may hold * and the newest that fits is taken ("self/slurm-*"). Default: Amazon Linux 2023,
	// and AWS's deep learning base image for GPUs.
	Images     map[string]string
	VolumeGiB  int    // of the root volume (gp3); 0: as the image has it, and 100 for the default images
	RootDevice string // the root volume's name; needed with VolumeGiB where the image is "resolve:ssm:..."
	// InstanceProfile is the name or ARN of the machines' rights in AWS, and so of every job on
	// them: the metadata service gives its keys to anybody who asks. "": none. KeyName is an SSH
	// key that may log in.
	InstanceProfile string
	KeyName         string
	Tags            map[string]string // beyond ours, on all that is made

	// SpotInterrupts is how often spot machines are taken back, per hour. AWS publishes no rate of
	// this kind. Default: [DefaultInterrupts].
	SpotInterrupts float64
	Boot           time.Duration // from Create to the agent's first word, as expected; default 90 s

	Profile         string // of the shared files
	CredentialsFile string // "": the default
	// Endpoint stands in for EC2, and PricingEndpoint for the price list and Service Quotas. With
	// Endpoint alone these are not asked.
	Endpoint        string
	PricingEndpoint string

	Prices *prices.Catalogue // nil: one of its own, kept in memory
	HTTP   sdk.HTTPClient    // nil: the SDK's
	Logger *slog.Logger      // nil: slog.Default()
	Now    func() time.Time  // nil: time.Now
}

// Region is one region to rent in.
type Region struct {
	Name  string
	Zones []string // names ("us-east-2a"); none: all that have a subnet
	// Subnets are IDs; none: the default ones, or those of VPC. Machines that are put near to each
	// other and have EFA get no public address (EC2 gives none to machines with several
	// interfaces): they reach the daemon from within the VPC, or by a NAT gateway.
	Subnets        []string
	VPC            string            // ID; "": the default VPC
	SecurityGroups []string          // IDs; none: the VPC's default one
	Images         map[string]string // before those of Config
}

// Type is a machine type that is wanted.
type Type struct {
	Name    string            // "g6.xlarge", or with * "g6.*"
	Markets []provider.Market // OnDemand, Spot; none: OnDemand
	Max     int               // machines at one time; 0: no bound
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

func (c *Config) check() error {
	switch {
	case c.Site == "" || c.Federation == "":
		return fmt.Errorf("aws: the site and the federation need names: machines are known by them")
	case len(c.Types) == 0 && len(c.Reservations) == 0:
		return fmt.Errorf("aws: no types and no reservations: nothing would be offered")
	case c.VolumeGiB < 0 || c.VolumeGiB > 65536:
		return fmt.Errorf("aws: volume of %d GiB: EC2 has 1 to 65536", c.VolumeGiB)
	case c.SpotInterrupts < 0:
		return fmt.Errorf("aws: %g interruptions per hour", c.SpotInterrupts)
	}
	for k, v := range c.Tags {
		if !tagKey.MatchString(k) || strings.HasPrefix(k, "aws:") || strings.HasPrefix(k, tagPrefix) || len(v) > 256 {
			return fmt.Errorf("aws: tag %q: keys are 1 to 128 of letters, digits and +-=.,_:@ (the metadata service shows them), none begins with aws: or %s; values have up to 256 characters", k, tagPrefix)
		}
	}
	for _, t := range c.Types {
		if err := t.check(); err != nil {
			return err
		}
		if why := provider.Undriven(driverless, t.Name); why != "" && !slices.ContainsFunc(c.Regions, func(r Region) bool { return c.undriven(&r, t.Name, "x86_64") == "" }) &&
			c.undriven(&Region{}, t.Name, "x86_64") != "" {
			return fmt.Errorf("aws: type %s: %s, and the default image has no other: name one with its driver in images, under the type", t.Name, why)
		}
	}
	for _, r := range c.Reservations {
		if !strings.HasPrefix(r, "cr-") {
			return fmt.Errorf("aws: reservation %q: IDs of capacity reservations and blocks begin with cr-", r)
		}
	}
	return c.checkImages()
}

func (t Type) check() error {
	if !strings.Contains(t.Name, ".") || strings.ContainsAny(t.Name, ", /") {
		return fmt.Errorf("aws: type %q: give it as EC2 does: g6.xlarge, or g6.*", t.Name)
	}
	if t.Max < 0 {
		return fmt.Errorf("aws: type %s: max is not negative", t.Name)
	}
	for _, m := range t.Markets {
		if m != provider.OnDemand && m != provider.Spot {
			return fmt.Errorf("aws: type %s: market %q: on-demand or spot (reservations and blocks are listed by their IDs)", t.Name, m)
		}
	}
	return nil
}

func (c *Config) checkImages() error {
	all := []map[string]string{c.Images}
	for _, r := range c.Regions {
		if r.Name == "" {
			return fmt.Errorf("aws: a region without a name")
		}
		all = append(all, r.Images)
	}
	for _, images := range all {
		for _, key := range slices.Sorted(maps.Keys(images)) {
			if _, ok := defaultImages[key]; !ok && !strings.Contains(key, ".") {
				return fmt.Errorf("aws: image for %q: architectures are x86_64 and arm64, with /gpu behind for types with GPUs; or give types: p3.*", key)
			}
			if _, err := parseImage(images[key]); err != nil {
				return err
			}
		}
	}
	return nil
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
