package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/driver"
	"fsub/testbed/drivertest"
)

// mortal is a driver that can be killed and started anew over the same books and cloud.
type mortal struct {
	w  *world
	mu sync.RWMutex
	d  *cloud.Driver
}

var errDown = fmt.Errorf("no daemon: %w", federation.ErrUnavailable)

func (m *mortal) get() (*cloud.Driver, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.d == nil {
		return nil, errDown
	}
	return m.d, nil
}

func (m *mortal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.d = nil
	m.w.stop()
}

func (m *mortal) revive() {
	m.w.ready()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.d = m.w.driver
}

func ask[T any](m *mortal, f func(*cloud.Driver) (T, error)) (out T, err error) {
	d, err := m.get()
	if err != nil {
		return out, err
	}
	return f(d)
}

func tell(m *mortal, f func(*cloud.Driver) error) error {
	_, err := ask(m, func(d *cloud.Driver) (any, error) { return nil, f(d) })
	return err
}

func (m *mortal) Observe(ctx context.Context) (*federation.Observation, error) {
	return ask(m, func(d *cloud.Driver) (*federation.Observation, error) { return d.Observe(ctx) })
}
func (m *mortal) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	return ask(m, func(d *cloud.Driver) (federation.Receipt, error) { return d.Submit(ctx, s) })
}
func (m *mortal) Jobs(ctx context.Context, mark federation.Mark) (federation.JobsReport, error) {
	return ask(m, func(d *cloud.Driver) (federation.JobsReport, error) { return d.Jobs(ctx, mark) })
}
func (m *mortal) Lookup(ctx context.Context, ref federation.JobRef) (federation.SiteJob, error) {
	return ask(m, func(d *cloud.Driver) (federation.SiteJob, error) { return d.Lookup(ctx, ref) })
}
func (m *mortal) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return tell(m, func(d *cloud.Driver) error { return d.Cancel(ctx, ref, tasks) })
}
func (m *mortal) Abilities() driver.Abilities {
	return driver.Abilities{Requeue: m, Suspend: m, Nodes: m, Limits: m.Limits}
}
func (m *mortal) Requeue(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return tell(m, func(d *cloud.Driver) error { return d.Requeue(ctx, ref, tasks) })
}
func (m *mortal) Suspend(ctx context.Context, ref federation.JobRef) error {
	return tell(m, func(d *cloud.Driver) error { return d.Suspend(ctx, ref) })
}
func (m *mortal) Resume(ctx context.Context, ref federation.JobRef) error {
	return tell(m, func(d *cloud.Driver) error { return d.Resume(ctx, ref) })
}
func (m *mortal) Signal(ctx context.Context, ref federation.JobRef, tasks []int, s federation.Signal) error {
	return tell(m, func(d *cloud.Driver) error { return d.Signal(ctx, ref, tasks, s) })
}
func (m *mortal) Hold(ctx context.Context, ref federation.JobRef) error {
	return tell(m, func(d *cloud.Driver) error { return d.Hold(ctx, ref) })
}
func (m *mortal) Release(ctx context.Context, ref federation.JobRef) error {
	return tell(m, func(d *cloud.Driver) error { return d.Release(ctx, ref) })
}
func (m *mortal) SetNodes(ctx context.Context, o driver.NodeOrder) (map[string]error, error) {
	return ask(m, func(d *cloud.Driver) (map[string]error, error) { return d.SetNodes(ctx, o) })
}
func (m *mortal) Limits() map[string]string {
	d, err := m.get()
	if err != nil {
		return nil
	}
	return d.Limits()
}

// forgetful loses the reply to a submission when it is told to.
type forgetful struct {
	*mortal
	lose atomic.Bool
}

func (f *forgetful) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	r, err := f.mortal.Submit(ctx, s)
	if err == nil && f.lose.Swap(false) {
		return federation.Receipt{}, errLost
	}
	return r, err
}

// stranger is a driver whose cloud does not take its credentials.
func stranger(t *testing.T) federation.Driver {
	w := newWorld(t)
	w.cloud.Before = func(string, *provider.Request) error {
		return &provider.Error{Kind: provider.KindDenied, Scope: provider.ScopeCloud, Code: "AuthFailure", Text: "who are you"}
	}
	w.start()
	w.until("the cloud has refused it", time.Minute, func() bool {
		_, err := w.driver.Observe(context.Background())
		return errors.Is(err, federation.ErrDenied)
	})
	return w.driver
}

// TestConformance: the driver keeps the promises of federation.Driver, with a cloud and agents that are fakes. What needs a real script is tested with real
// agents (package local).
func TestConformance(t *testing.T) {
	w := newWorld(t)
	w.cloud.Boot, w.cloud.Lag = 200*time.Millisecond, 0
	w.cfg.Pools[0].Max = 32
	w.cfg.Timing = cloud.Timing{Keep: 2 * time.Second, Tick: 200 * time.Millisecond, ListSoon: time.Second, Lease: 10 * time.Minute}
	w.cfg.Accounts = map[string][]string{"lab": {"alice"}, "dept": {"bob"}}
	m := &mortal{w: w}
	m.revive()
	var id atomic.Uint32
	id.Store(31_000_000)
	lossy := &forgetful{mortal: m}
	drivertest.Run(t, drivertest.Harness{
		Lossy: lossy, LoseReply: func() { lossy.lose.Store(true) }, Stranger: stranger(t),
		Driver: m, Federation: "test", NextID: func() federation.JobID { return federation.JobID(id.Add(1)) },
		User: federation.SiteUser{Name: "alice", UID: 2001, GID: 2001}, Other: federation.SiteUser{Name: "bob", UID: 2002, GID: 2002},
		Account: "lab", OtherAccount: "dept", Partition: "main", GPUType: "l4", Nodes: 32, Parallel: true, ForgetsAfter: 5 * time.Second,
		KillController: m.kill, StartController: m.revive,
	})
	w.sound()
}
