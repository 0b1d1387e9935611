package pools

import (
	"context"
	"fmt"
	"sync/atomic"

	"fsub/cloud"
	"fsub/federation"
	"fsub/federation/driver"
)

// now is the driver, while the daemon is up.
func (w *world) now() (*cloud.Driver, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.driver == nil {
		return nil, fmt.Errorf("the daemon is down: %w", federation.ErrUnavailable)
	}
	return w.driver, nil
}

func (w *world) lifetime() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.life
}

var _ federation.Driver = (*world)(nil)

func (w *world) Abilities() driver.Abilities {
	return driver.Abilities{Requeue: w, Suspend: w, Nodes: w, Limits: w.Limits}
}

func (w *world) SetNodes(ctx context.Context, o driver.NodeOrder) (map[string]error, error) {
	d, err := w.now()
	if err != nil {
		return nil, err
	}
	return d.SetNodes(ctx, o)
}

func (w *world) Observe(ctx context.Context) (*federation.Observation, error) {
	d, err := w.now()
	if err != nil {
		return nil, err
	}
	return d.Observe(ctx)
}

func (w *world) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	d, err := w.now()
	if err != nil {
		return federation.Receipt{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.lifetime(), cancel)() // who waits for a daemon that dies hears of it
	return d.Submit(ctx, s)
}

func (w *world) Jobs(ctx context.Context, mark federation.Mark) (federation.JobsReport, error) {
	d, err := w.now()
	if err != nil {
		return federation.JobsReport{}, err
	}
	return d.Jobs(ctx, mark)
}

func (w *world) Lookup(ctx context.Context, ref federation.JobRef) (federation.SiteJob, error) {
	d, err := w.now()
	if err != nil {
		return federation.SiteJob{}, err
	}
	return d.Lookup(ctx, ref)
}

func (w *world) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	d, err := w.now()
	if err != nil {
		return err
	}
	return d.Cancel(ctx, ref, tasks)
}

func (w *world) Signal(ctx context.Context, ref federation.JobRef, tasks []int, sig federation.Signal) error {
	d, err := w.now()
	if err != nil {
		return err
	}
	return d.Signal(ctx, ref, tasks, sig)
}

func (w *world) Hold(ctx context.Context, ref federation.JobRef) error {
	d, err := w.now()
	if err != nil {
		return err
	}
	return d.Hold(ctx, ref)
}

func (w *world) Release(ctx context.Context, ref federation.JobRef) error {
	d, err := w.now()
	if err != nil {
		return err
	}
	return d.Release(ctx, ref)
}

func (w *world) Requeue(ctx context.Context, ref federation.JobRef, tasks []int) error {
	d, err := w.now()
	if err != nil {
		return err
	}
	return d.Requeue(ctx, ref, tasks)
}

func (w *world) Suspend(ctx context.Context, ref federation.JobRef) error {
	d, err := w.now()
	if err != nil {
		return err
	}
	return d.Suspend(ctx, ref)
}

func (w *world) Resume(ctx context.Context, ref federation.JobRef) error {
	d, err := w.now()
	if err != nil {
		return err
	}
	return d.Resume(ctx, ref)
}

// Limits is asked once, while the daemon is up.
func (w *world) Limits() map[string]string {
	d, err := w.now()
	if err != nil {
		return nil
	}
	return d.Limits()
}

// lossy loses the next reply of the daemon to a submission or a cancellation, after it has acted.
type lossy struct {
	*world
	lose atomic.Bool
}

func (l *lossy) lost() error {
	if !l.lose.Swap(false) {
		return nil
	}
	return fmt.Errorf("the reply was lost: %w", federation.ErrUnavailable)
}

func (l *lossy) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	r, err := l.world.Submit(ctx, s)
	if lost := l.lost(); lost != nil {
		return federation.Receipt{}, lost
	}
	return r, err
}

func (l *lossy) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	err := l.world.Cancel(ctx, ref, tasks)
	if lost := l.lost(); lost != nil {
		return lost
	}
	return err
}
