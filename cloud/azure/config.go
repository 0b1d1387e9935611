package azure

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"fsub/cloud/agentapi"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
)

// Config is what to rent, and where. It holds no credential.
type Config struct {
	Site       federation.SiteName
	Federation string // the tag by which our machines are known from others': not empty

	Subscription  string   // ID
	ResourceGroup string   // where all that is made is put; it exists
	Location      string   // "eastus"
	Zones         []string // "1", "2", "3"; none: all that have the size
	AnyZone       bool     // offers each size once more without a zone: Azure chooses one for the gang
	Subnet        string   // VNET/SUBNET in the resource group, or an ID
	SecurityGroup string   // name in the resource group, or an ID; "": the subnet's
	PublicIP      bool     // machines get a public address; else the subnet must have its own way out

	Sizes []Size // at least one, or Reservations
	// Contract has on-demand prices per hour of one machine, by size or pattern, where a contract makes them others than the list's: see [provider.Choose].
	Contract map[string]federation.Dollars
	// Reservations are names of capacity reservation groups in the resource group. What is reserved in them is offered while it is there.
	Reservations []string

	// Images are what machines boot, by size or pattern ("Standard_NV*ads_A10_v5"), or by architecture ("x86_64", "arm64"), where "x86_64/gpu" is preferred for
	// sizes with GPUs. Each is PUBLISHER:OFFER:SKU:VERSION, or an ID. Default: Ubuntu 24.04, and Microsoft's HPC image of it for GPUs.
	Images   map[string]string
	DiskGiB  int               // of the disk with the system; 0: as the image has it, and 128 for the default images, whose own has little room
	Identity string            // ID of a user-assigned identity: the rights in Azure of the machines, and so of every job on them. "": none
	SSHKey   string            // a public key that may log in as "fsub"; "": nobody can
	Tags     map[string]string // beyond ours, on all that is made

	// SpotInterrupts is how often spot machines are taken back, per hour. Azure publishes ranges by region and size, and no rate. Default: [DefaultInterrupts].
	SpotInterrupts float64
	Boot           time.Duration     // from Create to the agent's first word, as expected; default 3 min
	Prices         *prices.Catalogue // nil: the table

	Credential azcore.TokenCredential // nil: the SDK's default chain
	Endpoint   string                 // stands in for Azure Resource Manager; it may be http
	HTTP       *http.Client           // nil: one with a time limit
	Logger     *slog.Logger           // nil: slog.Default()
	Now        func() time.Time       // nil: time.Now
}

// Size is a size of machines that is wanted.
type Size struct {
	Name    string            // "Standard_ND96isr_H100_v5", or with * "Standard_NC*_H100_v5"
	Markets []provider.Market // OnDemand, Spot; none: OnDemand
	Max     int               // machines at one time; 0: no bound
}

// DefaultInterrupts is the rate of spot interruptions per hour that is assumed where none is configured: a cautious guess.
const DefaultInterrupts = 0.05

// Boot is what machines of Azure need in their boot data (cloud.Config.Boot).
func Boot() agentapi.Boot { return agentapi.Boot{Metadata: "azure", PowerOff: true} }

var defaultImages = map[string]string{
	"x86_64":     "Canonical:ubuntu-24_04-lts:server:latest",
	"arm64":      "Canonical:ubuntu-24_04-lts:server-arm64:latest",
	"x86_64/gpu": "microsoft-dsvm:ubuntu-hpc:2404:latest",
	"arm64/gpu":  "microsoft-dsvm:ubuntu-hpc:2404-arm:latest",
}

// defaultDisk is how large disks with default images are, in GiB. Azure bills what is smaller and larger than 64 the same.
const defaultDisk = 128

// driverless are the sizes that the default image for GPUs, with NVIDIA's CUDA driver, cannot serve: see Microsoft's table of drivers for sizes of the series N.
var driverless = []provider.Driverless{
	{Types: "Standard_NV*ads_A10_v5", Why: "its part of an A10 needs NVIDIA's GRID driver"},
	{Types: "Standard_N*_MI300X_v5", Why: "its GPUs are AMD's, and need ROCm"},
	{Types: "Standard_N*_V710_v5", Why: "its GPU is AMD's, and needs AMD's driver"},
	{Types: "Standard_NG*_V620_v1", Why: "its GPU is AMD's, and needs AMD's driver"},
	{Types: "Standard_NV*as_v4", Why: "its GPU is AMD's, and needs AMD's driver"},
}

// undriven says why machines of a size would find no GPU with the image that they boot; "": they find theirs.
func (c *Config) undriven(size, arch string, gpus int) string {
	if _, own := c.image(size, arch, gpus); own {
		return ""
	}
	return provider.Undriven(driverless, size)
}

// image is what machines of a size boot; own: the configuration names it.
func (c *Config) image(size, arch string, gpus int) (image string, own bool) {
	key := arch
	if gpus > 0 {
		key += "/gpu"
	}
	named, _ := provider.Choose(c.Images, size)
	named = cmp.Or(named, c.Images[key], c.Images[arch])
	return cmp.Or(named, defaultImages[key]), named != ""
}

var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

func (c *Config) check() error {
	switch {
	case c.Site == "" || c.Federation == "":
		return fmt.Errorf("azure: the site and the federation need names: machines are known by them")
	case !uuid.MatchString(c.Subscription):
		return fmt.Errorf("azure: subscription %q: want its ID, as az account show --query id prints it", c.Subscription)
	case c.ResourceGroup == "":
		return fmt.Errorf("azure: resource_group is missing: what is made is put there")
	case c.Location == "" || strings.ContainsAny(c.Location, " /"):
		return fmt.Errorf("azure: location %q: want a region's short name: eastus", c.Location)
	case c.Subnet == "":
		return fmt.Errorf("azure: subnet is missing: VNET/SUBNET, or an ID")
	case len(c.Sizes) == 0 && len(c.Reservations) == 0:
		return fmt.Errorf("azure: no sizes and no reservations: nothing would be offered")
	case c.DiskGiB < 0 || c.DiskGiB > 4095:
		return fmt.Errorf("azure: disk of %d GiB: the disk of the system has 1 to 4095", c.DiskGiB)
	case c.SpotInterrupts < 0:
		return fmt.Errorf("azure: %g interruptions per hour", c.SpotInterrupts)
	}
	if !strings.HasPrefix(c.Subnet, "/") && strings.Count(c.Subnet, "/") != 1 {
		return fmt.Errorf("azure: subnet %q: want VNET/SUBNET, or an ID", c.Subnet)
	}
	for k, v := range c.Tags {
		if k == "" || len(k) > 512 || len(v) > 256 || strings.ContainsAny(k, `<>%&\?/`) || strings.HasPrefix(k, tagPrefix) {
			return fmt.Errorf(`azure: tag %q: names have up to 512 characters without <>%%&\?/ and do not begin with %s; values up to 256`, k, tagPrefix)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(c.Images)) {
		if _, ok := defaultImages[key]; !ok && !strings.HasPrefix(key, "Standard_") {
			return fmt.Errorf("azure: image for %q: architectures are x86_64 and arm64, with /gpu behind for sizes with GPUs; or give sizes: Standard_NC*_H100_v5", key)
		}
		if image := c.Images[key]; !strings.HasPrefix(image, "/") && strings.Count(image, ":") != 3 {
			return fmt.Errorf("azure: image %q: want PUBLISHER:OFFER:SKU:VERSION, or an ID", image)
		}
	}
	for _, s := range c.Sizes {
		if err := s.check(); err != nil {
			return err
		}
		if why := provider.Undriven(driverless, s.Name); why != "" && c.undriven(s.Name, "x86_64", 1) != "" {
			return fmt.Errorf("azure: size %s: %s, which the default image lacks: name an image that has it in images, under the size", s.Name, why)
		}
	}
	return nil
}

func (s Size) check() error {
	if _, err := path.Match(s.Name, ""); err != nil || !strings.HasPrefix(s.Name, "Standard_") {
		return fmt.Errorf("azure: size %q: give it as Azure does: Standard_ND96isr_H100_v5, or with a star", s.Name)
	}
	if s.Max < 0 {
		return fmt.Errorf("azure: size %s: max is not negative", s.Name)
	}
	for _, m := range s.Markets {
		if m != provider.OnDemand && m != provider.Spot {
			return fmt.Errorf("azure: size %s: market %q: on-demand or spot (reservations are listed by their group)", s.Name, m)
		}
	}
	return nil
}

// id is the ID of something in the resource group.
func (c *Config) id(kind, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return "/subscriptions/" + c.Subscription + "/resourceGroups/" + c.ResourceGroup + "/providers/" + kind + "/" + name
}

func (c *Config) subnetID() string {
	if strings.HasPrefix(c.Subnet, "/") {
		return c.Subnet
	}
	net, subnet, _ := strings.Cut(c.Subnet, "/")
	return c.id("Microsoft.Network/virtualNetworks", net) + "/subnets/" + subnet
}
