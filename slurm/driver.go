package slurm

import (
	"context"
	"fmt"
	"log/slog"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/slurm/wire"
)

// Driver is one Slurm cluster. Where the token may choose job IDs it is pinned: its jobs run under their federated IDs. Else it is
// mapped; see mapped.go. It is safe for concurrent use, and keeps nothing that it could not ask the site for again.
//
// It is made of parts, each of which keeps what it remembers of the site to itself.
type Driver struct {
	*site
	*actor           // changes jobs: Cancel, Signal, Hold, Release, and what else it can
	rights  *rights  // what the token may do
	queue   *queue   // the jobs that slurmctld holds
	records *records // the jobs that slurmdbd has recorded
	books   *books   // what they came to
	holders *holders // who holds nodes, and who waits for some
	lost    shrinking
	members *members // who may run, and the licenses
	keeper  *accountKeeper
	nodes   *nodes // lists nodes, drains and reboots them
	reserve *reserver
	parts   list[wire.Partition, federation.Partition]
	resvs   list[wire.Reservation, federation.Reservation]
	wiring  *wiring
	lookups *lookups
	unsure  doubts // submissions to a mapped site that had no response
}

// site is what all parts of a driver have.
type site struct {
	cfg     Config
	c       *client
	log     *slog.Logger
	remarks remarks // warnings of the site
}

var _ federation.Driver = (*Driver)(nil)

// Abilities is asked by [driver.AbilitiesOf].
func (d *Driver) Abilities() driver.Abilities {
	return driver.Abilities{Requeue: d, Update: d, Ranker: d, Measure: d.books, Use: useTeller(&d.cfg), Nodes: d.nodes, Check: d, AccountTree: d.keeper, Reboot: d.nodes, Reserve: d.reserve, Accounts: d.books, Srun: d.cfg.Srun, Limits: d.Limits, Calls: d.c.budget.used}
}

// Open makes a Driver. It reads the secret files, so that a bad one is reported at once, but does
// not use the network.
func Open(cfg Config) (*Driver, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	d := newDriver(&site{cfg: cfg, c: c, log: cfg.Logger.With("site", string(cfg.Name))})
	if clear := ClearText(cfg.URL); clear != "" {
		d.log.Warn(clear)
	}
	d.unsure.begin = c.now()
	if d.wiring, err = openWiring(cfg); err != nil {
		return nil, fmt.Errorf("site %s: %w", cfg.Name, err)
	}
	return d, nil
}

func newDriver(at *site) *Driver {
	d := &Driver{site: at, rights: &rights{site: at}, reserve: &reserver{at}, records: &records{site: at}, nodes: newNodes(at), lookups: newLookups()}
	d.queue = newQueue(at, d.rights)
	d.books = &books{site: at, records: d.records}
	d.holders = &holders{site: at, queue: d.queue}
	d.members = &members{site: at, queue: d.queue}
	d.keeper = &accountKeeper{site: at, books: d.books, members: d.members, queue: d.queue}
	d.actor = &actor{site: at, rights: d.rights, queue: d.queue, holders: d.holders}
	d.parts.op, d.parts.path, d.parts.key = "partitions", wire.PathPartitions, "partitions"
	d.resvs.op, d.resvs.path, d.resvs.key = "reservations", wire.PathReservations, "reservations"
	return d
}

// Ping asks the site for proof that it answers and takes our token. It is cheap for the site.
func (d *Driver) Ping(ctx context.Context) error {
	_, err := d.diag(ctx)
	return err
}
