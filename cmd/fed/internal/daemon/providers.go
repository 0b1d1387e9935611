package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/accounting"
	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/kind"
	"fsub/cloud/prices"
	"fsub/cloud/provider"
	"fsub/cmd/fed/internal/config"
	"fsub/sbatch"
)

// OpenProvider makes what rents the machines of a site, and says what they need to be started. key is that of the agent server.
func OpenProvider(ctx context.Context, c *config.Config, s *config.Site, key []byte, cat *prices.Catalogue, log *slog.Logger) (provider.Provider, agentapi.Boot, error) {
	var p provider.Provider
	var boot agentapi.Boot
	if s.Facts().Host != "" && !c.Hosts(s) {
		return nil, boot, elsewhere(s)
	}
	err := s.CheckSecrets() // without them an SDK would look for credentials elsewhere, and may find others
	with := kind.Setup{Site: s.Name, Federation: c.Federation, Settle: SettleCommand, Prices: cat, Logger: log,
		Installation: fmt.Sprintf("%x", sha256.Sum256(append([]byte("installation"), key...)))[:16]}
	if err == nil {
		with.Dir, err = filepath.Abs(filepath.Join(c.StateDir+"-machines", string(s.Name)))
	}
	if err == nil {
		with.Agent, err = findAgent(c)
	}
	if err == nil {
		p, boot, err = s.Settings().Open(ctx, with)
	}
	if err != nil {
		return nil, boot, fmt.Errorf("site %s: %w", s.Name, err)
	}
	return p, boot, nil
}

// cloudCalls is how many calls a second a cloud gets unless the site says otherwise. EC2 refuses
// many more than that.
const cloudCalls = 5

// wrap gives a provider what all have alike: a bound on the rate of its calls, repetition, metrics, and an end with the daemon's term.
func (cl *clouds) wrap(p provider.Provider, s *config.Site, log *slog.Logger, reg prometheus.Registerer) provider.Provider {
	if s.Here() { // machines of this one, or of another daemon's
		if cl.hosts == nil {
			return p
		}
		return provider.Wrap(p, provider.WrapConfig{Site: s.Name, Timeout: hostTime, Deposed: cl.deposed, Registerer: reg, Logger: log})
	}
	p = s.ContractTerms().Wrap(p, time.Now)
	return provider.Wrap(p, provider.WrapConfig{Site: s.Name, RPS: cmp.Or(s.CallsPerSecond, cloudCalls), Burst: 2 * cloudCalls, Retries: 1, Timeout: cmp.Or(s.Timeout, 90*time.Second),
		Deposed: cl.deposed, Registerer: reg, Logger: log})
}

// What is asked of another daemon's machine: how long a call may take, and how often its nodes are listed, which is how it is noticed that the daemon there is gone.
const (
	hostTime     = time.Minute
	hostList     = 5 * time.Second
	hostListSoon = 2 * time.Second
)

// poolsOf are the site's partitions as its driver has them.
func poolsOf(s *config.Site) []cloud.PoolConfig {
	var out []cloud.PoolConfig
	disk := s.Facts().DiskGiB
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
			nodes := s.Facts().Nodes
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
	if s.Facts().Host != "" {
		own := *t
		own.List, own.ListSoon = cmp.Or(t.List, hostList), cmp.Or(t.ListSoon, hostListSoon)
		t = &own
	}
	return cloud.Timing{Lease: lease, Boot: t.Boot, List: t.List, ListSoon: t.ListSoon, ListLag: t.ListLag, Stray: t.Stray, StockOut: t.StockOut, KillWait: t.KillWait, Margin: t.Margin, Beats: t.Beats}
}
