package azure

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"fsub/cloud/agentapi"
	"fsub/cloud/kind"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/decision"
)

// Config is what is rented from Microsoft Azure, in one region and resource group. Credentials
// are found as Azure's own tools find them, or in the file named here; none stands in this file.
type Config struct {
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
	// Machines get a public address each. Otherwise the subnet needs its own way out.
	PublicIP bool `yaml:"public_ip,omitempty"`
	// Sizes: Standard_ND96isr_H100_v5, or with a star Standard_NC*_H100_v5.
	Sizes []string `yaml:"sizes"`
	// Markets to rent in: on-demand, spot. Both if not set.
	Markets []provider.Market `yaml:"markets,omitempty"`
	// Names of capacity reservation groups of the resource group, offered while they hold something.
	Reservations []string `yaml:"reservations,omitempty"`
	// Dollars per hour on demand by size, or by sizes with a star, where a contract differs from
	// Azure's list, or the size is not in it.
	Contract map[string]decision.Dollars `yaml:"prices,omitempty"`
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
	// Expected interruptions of a spot machine per hour, until more is known of its offering
	// (docs/prices.md). 0.05 if not set.
	SpotInterrupts float64 `yaml:"spot_interrupts,omitempty"`
	// Expected time from the request to the first word of the agent. 3m if not set.
	Boot time.Duration `yaml:"boot,omitempty"`
	// File with the credentials of an application, as az ad sp create-for-rbac prints them. Not set:
	// where Azure's own tools look.
	CredentialsFile string `yaml:"credentials_file,omitempty"`
	// URL that stands in for Azure Resource Manager, for tests. The password of credentials_file is its token.
	Endpoint string `yaml:"endpoint,omitempty"`

	Site       federation.SiteName `yaml:"-"`
	Federation string              `yaml:"-"` // the tag by which our machines are known from others': not empty

	Prices     *prices.Catalogue      `yaml:"-"` // nil: the table
	Credential azcore.TokenCredential `yaml:"-"` // nil: the SDK's default chain
	HTTP       *http.Client           `yaml:"-"` // nil: one with a time limit
	Logger     *slog.Logger           `yaml:"-"` // nil: slog.Default()
	Now        func() time.Time       `yaml:"-"` // nil: time.Now
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

// Missing implements kind.Settings.
func (*Config) Missing() string {
	return "azure is missing: at least subscription, resource_group, location, subnet and the sizes that may be rented"
}

// Paths implements kind.Settings.
func (c *Config) Paths() []*string { return []*string{&c.CredentialsFile} }

// Check implements kind.Settings.
func (c *Config) Check(string) error {
	if c.Endpoint != "" && c.CredentialsFile == "" {
		return errors.New("azure: endpoint needs credentials_file: no real credential is sent to what stands in for Azure")
	}
	return c.check()
}

func (c *Config) check() error {
	for _, k := range []struct{ key, value string }{{"subscription", c.Subscription}, {"resource_group", c.ResourceGroup}, {"location", c.Location}, {"subnet", c.Subnet}} {
		if k.value == "" {
			return fmt.Errorf("azure: %s is missing", k.key)
		}
	}
	switch {
	case !uuid.MatchString(c.Subscription):
		return fmt.Errorf("azure: invalid subscription %q: want its ID, as az account show --query id prints it", c.Subscription)
	case strings.ContainsAny(c.Location, " /"):
		return fmt.Errorf("azure: invalid location %q: want a region's short name: eastus", c.Location)
	case !strings.HasPrefix(c.Subnet, "/") && strings.Count(c.Subnet, "/") != 1:
		return fmt.Errorf("azure: invalid subnet %q: want VNET/SUBNET, or an ID", c.Subnet)
	case len(c.Sizes) == 0 && len(c.Reservations) == 0:
		return errors.New("azure: sizes is missing: the sizes of machines that may be rented")
	case c.DiskGiB < 0 || c.DiskGiB > 4095:
		return fmt.Errorf("azure: invalid disk_gib %d: want 1 to 4095", c.DiskGiB)
	case c.Boot < 0 || !provider.Amount(c.SpotInterrupts):
		return errors.New("azure: boot and spot_interrupts must not be negative")
	}
	for k, v := range c.Tags {
		if k == "" || len(k) > 512 || len(v) > 256 || strings.ContainsAny(k, `<>%&\?/`) || strings.HasPrefix(k, tagPrefix) {
			return fmt.Errorf(`azure: invalid tag %q: names have up to 512 characters without <>%%&\?/ and do not begin with %s; values up to 256`, k, tagPrefix)
		}
	}
	for _, z := range c.Sizes {
		if _, err := path.Match(z, ""); err != nil || !strings.HasPrefix(z, "Standard_") {
			return fmt.Errorf("azure: invalid size %q: want it as Azure writes it: Standard_ND96isr_H100_v5, or with a star", z)
		}
		if why := provider.Undriven(driverless, z); why != "" && c.undriven(z, "x86_64", 1) != "" {
			return fmt.Errorf("azure: size %s: %s, which the default image lacks: name an image that has it in images, under the size", z, why)
		}
	}
	return cmp.Or(provider.CheckMarkets("azure", c.Markets, []provider.Market{provider.OnDemand, provider.Spot}, "; reservations are listed by their group"),
		provider.CheckPrices("azure", c.Contract, "sizes", c.Sizes), c.checkImages())
}

func (c *Config) checkImages() error {
	for _, key := range slices.Sorted(maps.Keys(c.Images)) {
		if _, ok := defaultImages[key]; !ok && !strings.HasPrefix(key, "Standard_") {
			return fmt.Errorf("azure: images: invalid key %q: want an architecture (x86_64, arm64, with /gpu for sizes with GPUs) or sizes: Standard_NC*_H100_v5", key)
		}
		if image := c.Images[key]; !strings.HasPrefix(image, "/") && strings.Count(image, ":") != 3 {
			return fmt.Errorf("azure: invalid image %q: want PUBLISHER:OFFER:SKU:VERSION, or an ID", image)
		}
	}
	if len(c.Reservations) > 0 {
		return nil // whose sizes are not known here
	}
	return provider.CheckImages("azure", c.Images, "sizes", c.Sizes)
}

// Facts implements kind.Settings. The list price of a disk is that of Premium SSD P10 in eastus, of 2026-06: 128 GiB for $19.71.
func (c *Config) Facts() kind.Facts {
	f := kind.Facts{Place: "azure:" + c.Location, DiskGiB: c.DiskGiB, DiskGiBMonth: 0.154, List: &kind.List{Cloud: prices.Azure, Regions: []string{c.Location}, StandIn: c.Endpoint != ""}}
	if c.DiskGiB == 0 && len(c.Images) == 0 {
		f.DiskGiB = defaultDisk
	}
	if c.Endpoint != "" {
		f.DiskGiBMonth = 0
	}
	for _, z := range c.Sizes {
		if !strings.Contains(z, "*") {
			f.List.Types = append(f.List.Types, z)
		}
	}
	return f
}

// Open implements kind.Settings.
func (c *Config) Open(_ context.Context, s kind.Setup) (provider.Provider, agentapi.Boot, error) {
	own := *c
	own.Site, own.Federation, own.Prices, own.Logger = s.Site, s.Federation, s.Prices, s.Logger
	if err := own.readCredential(); err != nil {
		return nil, Boot(), err
	}
	p, err := New(own)
	return p, Boot(), err
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

// readCredential reads the one in credentials_file, if that is set.
func (c *Config) readCredential() error {
	if c.CredentialsFile == "" {
		return nil
	}
	text, err := os.ReadFile(c.CredentialsFile)
	if err != nil {
		return fmt.Errorf("azure: credentials_file: %w", err)
	}
	var app struct {
		AppID, Password, Tenant          string // of az ad sp create-for-rbac
		ClientID, ClientSecret, TenantID string // with --json-auth
	}
	if err := json.Unmarshal(text, &app); err != nil {
		return fmt.Errorf("azure: credentials_file: %s is not JSON as az ad sp create-for-rbac prints it", c.CredentialsFile) // the error could show the password
	}
	id, secret, tenant := cmp.Or(app.AppID, app.ClientID), cmp.Or(app.Password, app.ClientSecret), cmp.Or(app.Tenant, app.TenantID)
	if id == "" || secret == "" || tenant == "" {
		return fmt.Errorf("azure: credentials_file: %s lacks appId, password or tenant", c.CredentialsFile)
	}
	if c.Endpoint != "" {
		c.Credential = Token(secret)
		return nil
	}
	c.Credential, err = Secret(tenant, id, secret)
	return err
}
