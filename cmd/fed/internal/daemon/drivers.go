package daemon

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"fsub/cloud/records"
	"fsub/cmd/fed/internal/config"
	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/leader"
	"fsub/slurm"
)

// openSites makes the driver of every configured site: of Slurm clusters here, of pools that are
// rented in clouds.go.
func openSites(ctx context.Context, c config.Config, term *leader.Term, rented *clouds, st records.PoolStore, log *slog.Logger, reg prometheus.Registerer) ([]controller.Site, error) {
	var out []controller.Site
	for i, s := range c.Sites {
		var d federation.Driver
		var err error
		if s.Rented() {
			d, err = rented.open(ctx, &c, &c.Sites[i], st, log, reg)
		} else {
			d, err = openSite(c, s, term, log)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, memberOf(&s, d))
	}
	return out, nil
}

// memberOf is the site as the controller is told of it.
func memberOf(s *config.Site, d federation.Driver) controller.Site {
	users := map[string]federation.SiteUser{}
	for name, u := range s.Users {
		users[name] = federation.SiteUser{Name: u.Name, UID: u.UID, GID: u.GID}
	}
	return controller.Site{Name: s.Name, Driver: d, Prices: s.Prices, Speed: s.Speed, Backlog: s.Backlog, AccountBacklog: s.AccountBacklog, Preempt: s.Preempt, Users: users, Accounts: s.Accounts,
		Lifts: s.Lifts(), Promises: s.Promises == config.PromisesReservation, FileSystems: s.FileSystems, Options: s.PluginOptionList(), Data: s.DataPlace()}
}

// openSite reads the site's key and makes its driver. It speaks to nobody. term is that of a daemon that leads others; nil: it is alone.
func openSite(c config.Config, s config.Site, term *leader.Term, log *slog.Logger) (federation.Driver, error) {
	var lease func() time.Time
	if term != nil {
		lease = term.Until
	}
	names := map[string]string{}
	for name, u := range s.Users {
		names[name] = u.Name
	}
	use := config.Use{}
	if s.Use != nil {
		use = *s.Use
	}
	d, err := slurm.Open(slurm.Config{
		Name: s.Name, URL: s.URL, User: s.User, Mode: s.Mode, KeyFile: s.KeyFile, TokenFile: s.TokenFile, TokenCommand: s.TokenCommand, Users: names, Timeout: s.Timeout,
		CAFile: s.CAFile, CertFile: s.ClientCert, CertKeyFile: s.ClientKey,
		RPS: s.CallsPerSecond, Burst: int(max(s.CallsPerSecond, 1)), DefaultPartition: s.Partition, Federation: c.Federation, FirstID: c.JobIDs.First, LastID: c.JobIDs.Last,
		TopologyFile: s.Topology, NodeCommand: s.NodeCommand, ReservationCommand: s.ReservationCommand, Srun: s.SiteSrun(), AccountCommand: s.AccountCommand, UseCommand: use.Command, UseExporter: use.Exporter, NoAssociations: s.NoAssociations, Lease: lease, Logger: log,
	})
	if err != nil { // it names the site
		return nil, err
	}
	return d, nil
}

// operationRate is how many requests a second a site gets of operations on many jobs: half of the calls that it may get at all.
func operationRate(c *config.Config, name federation.SiteName) float64 {
	for i := range c.Sites {
		if s := &c.Sites[i]; s.Name == name && s.CallsPerSecond > 0 {
			return s.CallsPerSecond / 2
		}
	}
	return 100
}
