package rented

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/aws"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/store"
	"fsub/testbed/drivertest"
)

// ask asks the driver, while the daemon's part is up. Who waits when that goes down hears of it.
func ask[T any](ctx context.Context, s *site, f func(context.Context, *cloud.Driver) (T, error)) (out T, err error) {
	s.mu.Lock()
	d, life := s.driver, s.life
	s.mu.Unlock()
	if d == nil {
		return out, fmt.Errorf("the daemon is down: %w", federation.ErrUnavailable)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(life, cancel)()
	return f(ctx, d)
}

func tell(ctx context.Context, s *site, f func(context.Context, *cloud.Driver) error) error {
	_, err := ask(ctx, s, func(ctx context.Context, d *cloud.Driver) (any, error) { return nil, f(ctx, d) })
	return err
}

var _ federation.Driver = (*site)(nil)

func (s *site) Abilities() driver.Abilities {
	return driver.Abilities{Requeue: s, Suspend: s, Nodes: s, Limits: s.Limits}
}

func (s *site) Observe(ctx context.Context) (*federation.Observation, error) {
	return ask(ctx, s, func(ctx context.Context, d *cloud.Driver) (*federation.Observation, error) { return d.Observe(ctx) })
}

func (s *site) SetNodes(ctx context.Context, o driver.NodeOrder) (map[string]error, error) {
	return ask(ctx, s, func(ctx context.Context, d *cloud.Driver) (map[string]error, error) { return d.SetNodes(ctx, o) })
}

func (s *site) Submit(ctx context.Context, sub federation.Submission) (federation.Receipt, error) {
	return ask(ctx, s, func(ctx context.Context, d *cloud.Driver) (federation.Receipt, error) { return d.Submit(ctx, sub) })
}

func (s *site) Jobs(ctx context.Context, mark federation.Mark) (federation.JobsReport, error) {
	return ask(ctx, s, func(ctx context.Context, d *cloud.Driver) (federation.JobsReport, error) { return d.Jobs(ctx, mark) })
}

func (s *site) Lookup(ctx context.Context, ref federation.JobRef) (federation.SiteJob, error) {
	return ask(ctx, s, func(ctx context.Context, d *cloud.Driver) (federation.SiteJob, error) { return d.Lookup(ctx, ref) })
}

func (s *site) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return tell(ctx, s, func(ctx context.Context, d *cloud.Driver) error { return d.Cancel(ctx, ref, tasks) })
}

func (s *site) Signal(ctx context.Context, ref federation.JobRef, tasks []int, sig federation.Signal) error {
	return tell(ctx, s, func(ctx context.Context, d *cloud.Driver) error { return d.Signal(ctx, ref, tasks, sig) })
}

func (s *site) Hold(ctx context.Context, ref federation.JobRef) error {
	return tell(ctx, s, func(ctx context.Context, d *cloud.Driver) error { return d.Hold(ctx, ref) })
}

func (s *site) Release(ctx context.Context, ref federation.JobRef) error {
	return tell(ctx, s, func(ctx context.Context, d *cloud.Driver) error { return d.Release(ctx, ref) })
}

func (s *site) Requeue(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return tell(ctx, s, func(ctx context.Context, d *cloud.Driver) error { return d.Requeue(ctx, ref, tasks) })
}

func (s *site) Suspend(ctx context.Context, ref federation.JobRef) error {
	return tell(ctx, s, func(ctx context.Context, d *cloud.Driver) error { return d.Suspend(ctx, ref) })
}

func (s *site) Resume(ctx context.Context, ref federation.JobRef) error {
	return tell(ctx, s, func(ctx context.Context, d *cloud.Driver) error { return d.Resume(ctx, ref) })
}

// Limits is asked once, while the daemon's part is up.
func (s *site) Limits() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.driver.Limits()
}

// lossy loses the next reply to a submission or a cancellation, after the driver has acted. There is no line between a daemon and the driver of its rented site: what is lost is what
// the daemon knew when it died. The line that can lose replies is the one to the cloud: see TestLostReplies.
type lossy struct {
	*site
	lose atomic.Bool
}

func (l *lossy) lost(err error) error {
	if err == nil && l.lose.Swap(false) {
		return fmt.Errorf("the reply was lost: %w", federation.ErrUnavailable)
	}
	return err
}

func (l *lossy) Submit(ctx context.Context, sub federation.Submission) (federation.Receipt, error) {
	r, err := l.site.Submit(ctx, sub)
	if err := l.lost(err); err != nil {
		return federation.Receipt{}, err
	}
	return r, nil
}

func (l *lossy) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return l.lost(l.site.Cancel(ctx, ref, tasks))
}

// stranger is a site's driver whose credentials the cloud does not know.
func (s *site) stranger() federation.Driver {
	s.t.Helper()
	log := slog.New(slog.NewTextHandler(s.log, nil))
	file := filepath.Join(s.dir, "wrong")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = AKIAWRONG\naws_secret_access_key = wrong\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	st, err := store.Open(ctx, store.Config{Path: filepath.Join(s.dir, "stranger", "fed.db"), Logger: log})
	if err != nil {
		s.t.Fatal(err)
	}
	p, err := aws.New(ctx, aws.Config{Site: "aws", Federation: "rented", Region: aws.Region{Name: s.cloud.Region()}, Types: []string{"g6.xlarge"}, CredentialsFile: file,
		Endpoint: s.url, Logger: log})
	if err != nil {
		s.t.Fatal(err)
	}
	d, err := cloud.New(cloud.Config{Site: "aws", Provider: p, Store: st, Boot: aws.Boot(), Pools: []cloud.PoolConfig{{Name: "main"}}, Secret: s.key, Logger: log, Timing: quick})
	if err != nil {
		s.t.Fatal(err)
	}
	done := make(chan error)
	go func() { done <- d.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, st.Close()); err != nil {
			s.t.Errorf("the stranger: %v", err)
		}
	})
	s.eventually("the cloud has refused it", 20*time.Second, func() string {
		_, err := d.Observe(ctx)
		if !errors.Is(err, federation.ErrDenied) {
			return fmt.Sprint(err)
		}
		return ""
	})
	return d
}

var lastID atomic.Uint32

func nextID() federation.JobID { return federation.FirstJobID + federation.JobID(lastID.Add(1)) }

// TestConformance: a site of machines that are rented from a cloud keeps the promises that real Slurm keeps.
func TestConformance(t *testing.T) {
	const nodes = 6
	s := newSite(t, nodes, true)
	drop := &lossy{site: s}
	drivertest.Run(t, drivertest.Harness{
		Driver: s, Federation: "rented", NextID: nextID,
		User: s.user, Other: s.other, Account: "physics", OtherAccount: "vision", Partition: "main", GPUType: "l4", Nodes: nodes, Patience: 60 * time.Second * busy, Parallel: true,
		Stranger: s.stranger(), Dir: s.home, ReadFile: os.ReadFile, LoseReply: func() { drop.lose.Store(true) }, Lossy: drop,
		KillController: s.kill, StartController: func() { s.start(nodes) }, ForgetsAfter: 15 * time.Second,
	})
}
