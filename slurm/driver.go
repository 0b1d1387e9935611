package slurm

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"fsub/federation"
)

// Driver is one Slurm cluster. Where the token may choose job IDs it is pinned: its jobs run under their federated IDs. Else it is
// mapped; see mapped.go. It is safe for concurrent use, and keeps nothing that it could not ask the site for again.
type Driver struct {
	cfg Config
	c   *client
	log *slog.Logger

	lists    lists
	mu       sync.Mutex
	stands   standing     // what the token may do, once the site was asked
	jobs     recentJobs   // of a site without /jobs/state/: the last answer about all jobs
	cluster  string       // the site's name for itself, where not every answer tells it
	unsure   doubts       // submissions to a mapped site that had no response
	licenses licenses     // cached too
	assocs   associations // cached: slurmdbd need not be asked at every look
	running  runningJobs  // cached details of the jobs that hold nodes
	begun    begun        // those whose details were left to a later look
	waiting  waitingJobs  // and of those that wait
	boot     int64        // when the controller of a mapped site began to count, as that cache has it
	defPart  string       // learned from a job that named no partition
	remarks  remarks      // warnings of the site
	wiring   *wiring
	named    atomic.Int64 // until when accounts of 22.05 are asked for by states only, in Unix seconds
}

var _ federation.Driver = (*Driver)(nil)

// Abilities is asked by [federation.AbilitiesOf].
func (d *Driver) Abilities() federation.Abilities {
	return federation.Abilities{Requeue: d, Update: d, Ranker: d, Measure: d, Nodes: d, Check: d, AccountTree: d, Reboot: d, Accounts: d, Limits: d.Limits, Calls: d.c.used}
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
	d := &Driver{cfg: cfg, c: c, log: cfg.Logger.With("site", string(cfg.Name))}
	d.unsure.begin = c.now()
	d.lists.init()
	if d.wiring, err = openWiring(cfg); err != nil {
		return nil, fmt.Errorf("site %s: %w", cfg.Name, err)
	}
	return d, nil
}

// Ping asks the site for proof that it answers and takes our token. It is cheap for the site.
func (d *Driver) Ping(ctx context.Context) error {
	_, err := d.diag(ctx)
	return err
}
