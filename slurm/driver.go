package slurm

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"fsub/federation"
)

// Driver is one Slurm cluster in pinned mode: its jobs run under their federated IDs, which only a token of SlurmUser or root may
// choose. It is safe for concurrent use, and keeps nothing that it could not ask the site for again.
type Driver struct {
	cfg Config
	c   *client
	log *slog.Logger

	mu       sync.Mutex
	pinned   bool         // the site was asked and lets us choose job IDs
	assocs   associations // cached: slurmdbd need not be asked at every look
	running  runningJobs  // cached details of the jobs that hold nodes
	defPart  string       // learned from a job that named no partition
	remarks  remarks      // warnings of the site
	topology topologyFile
}

var _ federation.Driver = (*Driver)(nil)

// Open makes a Driver. It reads the secret files, so that a bad one is told at once, but asks nothing of the network.
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
	if d.topology, err = openTopology(cfg); err != nil {
		return nil, fmt.Errorf("site %s: %w", cfg.Name, err)
	}
	return d, nil
}

// Ping asks the site for proof that it answers and takes our token. It is cheap for the site.
func (d *Driver) Ping(ctx context.Context) error {
	_, err := d.diag(ctx)
	return err
}
