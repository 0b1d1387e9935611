package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/accounting"
	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/sbatch"
)

// openProvider makes what rents the machines of a site, and says what they need to be started.
func openProvider(ctx context.Context, c *Config, s *SiteConfig, cat *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	var p provider.Provider
	var boot agentapi.Boot
	err := s.checkSecrets() // without them an SDK would look for credentials elsewhere, and may find others
	if err == nil {
		p, boot, err = s.kind().open(ctx, c, s, cat, log)
	}
	if err != nil {
		return nil, boot, fmt.Errorf("site %s: %w", s.Name, err)
	}
	return p, boot, nil
}

// contract is what a section's prices come to, by type, size or generation.
func contract(prices map[string]float64) map[string]federation.Dollars {
	out := make(map[string]federation.Dollars, len(prices))
	for typ, usd := range prices {
		out[typ] = federation.Dollars(usd)
	}
	return out
}

// checkPrices refuses prices of a section that are none, or of nothing that it rents: types are what stands under key.
func checkPrices(kind string, prices map[string]float64, key string, types []string) error {
	for typ, usd := range prices {
		if !number(usd) {
			return fmt.Errorf("%s: prices: %s costs %v: a price is a number and not negative", kind, typ, usd)
		}
	}
	if typ := provider.Unused(prices, types); typ != "" {
		return fmt.Errorf("%s: prices: %s is none of %s (%s): it would never count", kind, typ, key, strings.Join(types, ", "))
	}
	return nil
}

// checkImages refuses images for types that a section does not rent.
func checkImages(kind string, images map[string]string, key string, types []string) error {
	own := maps.Clone(images)
	for _, arch := range []string{"x86_64", "arm64"} {
		delete(own, arch)
		delete(own, arch+"/gpu")
	}
	if typ := provider.Unused(own, types); typ != "" {
		return fmt.Errorf("%s: images: %s is no architecture (x86_64, arm64, with /gpu behind for GPUs), and none of %s (%s)", kind, typ, key, strings.Join(types, ", "))
	}
	return nil
}

// cloudCalls is how many calls a second a cloud gets unless the site says otherwise. EC2 refuses
// many more than that.
const cloudCalls = 5

// wrapProvider gives a provider what all have alike: a bound on the rate of its calls, repetition, metrics.
func wrapProvider(p provider.Provider, s *SiteConfig, log *slog.Logger, reg prometheus.Registerer) provider.Provider {
	if s.here() { // no calls leave this machine
		return p
	}
	p = s.terms().Wrap(p, time.Now)
	return provider.Wrap(p, provider.WrapConfig{Site: s.Name, RPS: cmp.Or(s.CallsPerSecond, cloudCalls), Burst: 2 * cloudCalls, Retries: 1, Timeout: cmp.Or(s.Timeout, 90*time.Second),
		Registerer: reg, Logger: log})
}

// terms are those of the site's contract. Its machines' disks cost what the cloud's list has unless the contract sets that.
func (s *SiteConfig) terms() (t prices.Terms) {
	if s.Terms != nil {
		t = s.Terms.terms()
	}
	if t.Disk == 0 {
		t.Disk = s.diskPrice()
	}
	return t
}

// What a GiB of a machine's disk costs in dollars a month by the clouds' lists of 2026-06: gp3 in us-east-1, pd-balanced in us-central1, and Premium SSD P10 in eastus, which has 128 for $19.71.
const (
	diskOfAmazon    = 0.08
	diskOfGoogle    = 0.10
	diskOfAzure     = 0.154
	defaultDisk     = 100 // GiB of the disks with default images
	defaultOfAzures = 128
)

// disk is how large a machine's disk is in GiB, and what a GiB of it costs in dollars a month by the cloud's list; 0: it is not known, as with images of one's own. The disk of
// a TPU host is part of its price.
func (s *SiteConfig) disk() (gib int, month float64) {
	size := func(configured, fallback int, images map[string]string) int {
		if configured > 0 || len(images) > 0 {
			return configured
		}
		return fallback
	}
	switch {
	case s.AWS != nil:
		return size(s.AWS.VolumeGiB, defaultDisk, s.AWS.Images), diskOfAmazon
	case s.GCP != nil:
		return size(s.GCP.DiskGiB, defaultDisk, s.GCP.Images), diskOfGoogle
	case s.Azure != nil:
		return size(s.Azure.DiskGiB, defaultOfAzures, s.Azure.Images), diskOfAzure
	}
	return 0, 0
}

// diskPrice is what a machine's disk costs per hour; 0: it is not known how large it is, or what stands in for the cloud has no prices.
func (s *SiteConfig) diskPrice() federation.Dollars {
	if s.AWS != nil && s.AWS.Endpoint != "" || s.GCP != nil && s.GCP.Endpoint != "" || s.Azure != nil && s.Azure.Endpoint != "" {
		return 0
	}
	gib, month := s.disk()
	return federation.Dollars(float64(gib) * month / hoursOfMonth)
}

// pools are the site's partitions as its driver has them.
func (s *SiteConfig) pools() []cloud.PoolConfig {
	var out []cloud.PoolConfig
	disk, _ := s.disk()
	for _, p := range s.Pools {
		k := cloud.PoolConfig{
			Name: p.Name, Default: p.Default, Select: cloud.Selector{Types: p.Types, Zones: p.Zones}, Min: p.Min, Max: p.Max, Idle: p.Idle,
			Daily: accounting.MoneyOf(p.BudgetDay), Monthly: accounting.MoneyOf(p.BudgetMonth), Near: p.Near, MaxTime: p.MaxTime, DefaultTime: p.DefaultTime,
			DefMemPerCPU: p.DefMemPerCPU, Shared: s.here(), MPI: p.MPI, Disk: sbatch.MemMiB(disk) << 10,
		}
		for _, m := range p.Markets {
			k.Select.Markets = append(k.Select.Markets, provider.Market(m))
		}
		if p.Shared != nil {
			k.Shared = *p.Shared
		}
		if k.MaxTime == 0 {
			k.MaxTime = sbatch.Unlimited
		}
		out = append(out, k)
	}
	if len(out) == 0 {
		out = []cloud.PoolConfig{{Name: "main", Default: true, Shared: s.here(), Disk: sbatch.MemMiB(disk) << 10, MaxTime: sbatch.Unlimited}}
	}
	if s.here() { // its machines cost nothing while they are idle
		for i := range out {
			nodes := s.localNodes()
			if out[i].Max == 0 {
				out[i].Max = nodes
			}
			if len(s.Pools) == 0 {
				out[i].Min = nodes
			}
		}
	}
	return out
}

func (s *SiteConfig) localNodes() int {
	if s.Local == nil || s.Local.Nodes == 0 {
		return 1
	}
	return s.Local.Nodes
}

// onlyUser is the one user whose jobs a site can run: the daemon's own, where it is not root and
// the machines are its children.
func onlyUser(s *SiteConfig) string {
	if !s.here() || os.Geteuid() == 0 {
		return ""
	}
	u, err := user.Current()
	if err != nil {
		return fmt.Sprint(os.Geteuid())
	}
	return u.Username
}

// timing are the site's waits.
func (s *SiteConfig) timing(lease time.Duration) cloud.Timing {
	t := s.Timing
	if t == nil {
		t = &TimingConfig{}
	}
	return cloud.Timing{Lease: lease, Boot: t.Boot, List: t.List, ListSoon: t.ListSoon, ListLag: t.ListLag, Stray: t.Stray, StockOut: t.StockOut, KillWait: t.KillWait, Margin: t.Margin}
}
