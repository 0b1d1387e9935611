package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/accounting"
	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/aws"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/sbatch"
)

// openProvider makes what rents the machines of a site, and says what they need to be started. This is where the clouds are listed.
func openProvider(ctx context.Context, c *Config, s *SiteConfig, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	var p provider.Provider
	var boot agentapi.Boot
	var err error
	switch s.Kind {
	case kindLocal:
		p, boot, err = openLocal(c, s, log)
	case kindAWS:
		p, err = aws.New(ctx, s.aws(c.Federation, log))
		boot = aws.Boot()
	default:
		err = fmt.Errorf("no cloud is called %q", s.Kind)
	}
	if err != nil {
		return nil, boot, fmt.Errorf("site %s: %w", s.Name, err)
	}
	return p, boot, nil
}

// cloudCalls is how many calls a second a cloud gets unless the site says otherwise. EC2 refuses many more than that.
const cloudCalls = 5

// wrapProvider gives a provider what all have alike: a bound on the rate of its calls, repetition, metrics.
func wrapProvider(p provider.Provider, s *SiteConfig, log *slog.Logger, reg prometheus.Registerer) provider.Provider {
	if s.Kind == kindLocal { // no calls leave this machine
		return p
	}
	return provider.Wrap(p, provider.WrapConfig{Site: s.Name, RPS: cmp.Or(s.CallsPerSecond, cloudCalls), Burst: 2 * cloudCalls, Retries: 1, Timeout: cmp.Or(s.Timeout, 90*time.Second),
		Registerer: reg, Logger: log})
}

// aws is the site's configuration as its provider has it.
func (s *SiteConfig) aws(fed string, log *slog.Logger) aws.Config {
	a := s.AWS
	kinds := []provider.Market{provider.OnDemand, provider.Spot}
	if len(a.Markets) > 0 {
		kinds = nil
		for _, m := range a.Markets {
			if m := provider.Market(m); m == provider.OnDemand || m == provider.Spot {
				kinds = append(kinds, m)
			}
		}
	}
	out := aws.Config{
		Site: s.Name, Federation: fed, Reservations: a.Reservations, AnyZone: a.AnyZone, Images: a.Images, VolumeGiB: a.VolumeGiB,
		InstanceProfile: a.InstanceProfile, KeyName: a.KeyName, Tags: a.Tags, SpotInterrupts: a.SpotInterrupts, Boot: a.Boot, Profile: a.Profile,
		CredentialsFile: a.CredentialsFile, Endpoint: a.Endpoint, PricingEndpoint: a.PricingEndpoint, Logger: log,
	}
	if a.Region != "" {
		out.Regions = []aws.Region{{Name: a.Region, Zones: a.Zones, VPC: a.VPC, Subnets: a.Subnets, SecurityGroups: a.SecurityGroups}}
	}
	for _, t := range a.Types {
		out.Types = append(out.Types, aws.Type{Name: t, Markets: kinds, Price: federation.Dollars(a.Prices[t])})
	}
	return out
}

// pools are the site's partitions as its driver has them.
func (s *SiteConfig) pools() []cloud.PoolConfig {
	var out []cloud.PoolConfig
	for _, p := range s.Pools {
		k := cloud.PoolConfig{
			Name: p.Name, Default: p.Default, Select: cloud.Selector{Types: p.Types, Zones: p.Zones}, Min: p.Min, Max: p.Max, Idle: p.Idle,
			Daily: accounting.MoneyOf(p.BudgetDay), Monthly: accounting.MoneyOf(p.BudgetMonth), Near: p.Near, MaxTime: p.MaxTime, DefaultTime: p.DefaultTime,
			DefMemPerCPU: p.DefMemPerCPU, Shared: s.Kind == kindLocal, MPI: p.MPI,
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
		out = []cloud.PoolConfig{{Name: "main", Default: true, Shared: s.Kind == kindLocal, MaxTime: sbatch.Unlimited}}
	}
	if s.Kind == kindLocal { // its machines cost nothing while they are idle
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

// onlyUser is the one user whose jobs a site can run: the daemon's own, where it is not root and the machines are its children.
func onlyUser(s *SiteConfig) string {
	if s.Kind != kindLocal || os.Geteuid() == 0 {
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
