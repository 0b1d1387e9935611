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
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/sbatch"
)

// openProvider makes what rents the machines of a site, and says what they need to be started.
func openProvider(ctx context.Context, c *config.Config, s *config.Site, cat *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	var p provider.Provider
	var boot agentapi.Boot
	err := s.CheckSecrets() // without them an SDK would look for credentials elsewhere, and may find others
	if err == nil {
		p, boot, err = openers()[s.Kind](ctx, c, s, cat, log)
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

// cloudCalls is how many calls a second a cloud gets unless the site says otherwise. EC2 refuses
// many more than that.
const cloudCalls = 5

// wrapProvider gives a provider what all have alike: a bound on the rate of its calls, repetition, metrics.
func wrapProvider(p provider.Provider, s *config.Site, log *slog.Logger, reg prometheus.Registerer) provider.Provider {
	if s.Here() { // no calls leave this machine
		return p
	}
	p = s.ContractTerms().Wrap(p, time.Now)
	return provider.Wrap(p, provider.WrapConfig{Site: s.Name, RPS: cmp.Or(s.CallsPerSecond, cloudCalls), Burst: 2 * cloudCalls, Retries: 1, Timeout: cmp.Or(s.Timeout, 90*time.Second),
		Registerer: reg, Logger: log})
}

// poolsOf are the site's partitions as its driver has them.
func poolsOf(s *config.Site) []cloud.PoolConfig {
	var out []cloud.PoolConfig
	disk, _ := s.Disk()
	for _, p := range s.Pools {
		k := cloud.PoolConfig{
			Name: p.Name, Default: p.Default, Select: cloud.Selector{Types: p.Types, Zones: p.Zones}, Min: p.Min, Max: p.Max, Idle: p.Idle,
			Daily: accounting.MoneyOf(p.BudgetDay), Monthly: accounting.MoneyOf(p.BudgetMonth), Near: p.Near, MaxTime: p.MaxTime, DefaultTime: p.DefaultTime,
			DefMemPerCPU: p.DefMemPerCPU, Shared: s.Here(), MPI: p.MPI, Disk: sbatch.MemMiB(disk) << 10,
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
		out = []cloud.PoolConfig{{Name: "main", Default: true, Shared: s.Here(), Disk: sbatch.MemMiB(disk) << 10, MaxTime: sbatch.Unlimited}}
	}
	if s.Here() { // its machines cost nothing while they are idle
		for i := range out {
			nodes := localNodes(s)
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

func localNodes(s *config.Site) int {
	if s.Local == nil || s.Local.Nodes == 0 {
		return 1
	}
	return s.Local.Nodes
}

// onlyUser is the one user whose jobs a site can run: the daemon's own, where it is not root and
// the machines are its children.
func onlyUser(s *config.Site) string {
	if !s.Here() || os.Geteuid() == 0 {
		return ""
	}
	u, err := user.Current()
	if err != nil {
		return fmt.Sprint(os.Geteuid())
	}
	return u.Username
}

// timingOf are the site's waits.
func timingOf(s *config.Site, lease time.Duration) cloud.Timing {
	t := s.Timing
	if t == nil {
		t = &config.Timing{}
	}
	return cloud.Timing{Lease: lease, Boot: t.Boot, List: t.List, ListSoon: t.ListSoon, ListLag: t.ListLag, Stray: t.Stray, StockOut: t.StockOut, KillWait: t.KillWait, Margin: t.Margin}
}
