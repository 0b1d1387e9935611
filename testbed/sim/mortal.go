package sim

import (
	"context"
	"errors"
	"fmt"

	"fsub/federation"
	"fsub/federation/controller"
	"fsub/federation/journal"
	"fsub/sbatch"
)

// errDead is what everything fails with after the daemon has died.
var errDead = errors.New("the daemon is dead")

// life counts the daemon's steps to its death: before or after the effect of the step that it dies in.
type life struct {
	after func() bool // whether it dies after the effect of its last step
	steps int         // left to live; negative: forever
	dead  bool
}

// step runs one step of the daemon. It returns errDead if the daemon is dead or dies in it.
func (l *life) step(do func() error) error {
	if l.dead {
		return errDead
	}
	if l.steps > 0 {
		l.steps--
	}
	if l.steps == 0 {
		l.dead = true
		if l.after() {
			_ = do() // died after the effect: nobody hears of it
		}
		return errDead
	}
	return do()
}

// mortalStore is a store whose writes, and the reads that begin a round, are steps of the daemon.
type mortalStore struct {
	controller.Store
	life *life
}

func (s *mortalStore) Commit(ctx context.Context, b *journal.Batch) error {
	return s.life.step(func() error { return s.Store.Commit(ctx, b) })
}

func (s *mortalStore) Jobs(ctx context.Context, q federation.JobQuery) (out []federation.Job, err error) {
	err = s.life.step(func() (err error) { out, err = s.Store.Jobs(ctx, q); return })
	return
}

func (s *mortalStore) Payload(ctx context.Context, id federation.JobID) (out sbatch.Payload, err error) {
	err = s.life.step(func() (err error) { out, err = s.Store.Payload(ctx, id); return })
	return
}

// mortalDriver is a driver whose calls are steps of the daemon.
type mortalDriver struct {
	federation.Driver
	life *life
}

func (d *mortalDriver) Observe(ctx context.Context) (out *federation.Observation, err error) {
	err = d.life.step(func() (err error) { out, err = d.Driver.Observe(ctx); return })
	return
}

func (d *mortalDriver) Submit(ctx context.Context, s federation.Submission) (out federation.Receipt, err error) {
	err = d.life.step(func() (err error) { out, err = d.Driver.Submit(ctx, s); return })
	return
}

func (d *mortalDriver) Jobs(ctx context.Context, m federation.Mark) (out federation.JobsReport, err error) {
	err = d.life.step(func() (err error) { out, err = d.Driver.Jobs(ctx, m); return })
	return
}

func (d *mortalDriver) Lookup(ctx context.Context, ref federation.JobRef) (out federation.SiteJob, err error) {
	err = d.life.step(func() (err error) { out, err = d.Driver.Lookup(ctx, ref); return })
	return
}

func (d *mortalDriver) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return d.life.step(func() error { return d.Driver.Cancel(ctx, ref, tasks) })
}

// lossy is a driver on the far side of a bad line. What is lost does not depend on the daemon's life.
type lossy struct {
	federation.Driver
	name federation.SiteName
	w    *world
}

func (d *lossy) call(do func() error) error {
	if d.w.away(d.name) {
		return fmt.Errorf("%w: no route to host", federation.ErrUnavailable)
	}
	loss := d.w.cfg.Loss
	x := d.w.rng.Float64()
	switch {
	case x < loss.Refused:
		d.w.report.Lost++
		return fmt.Errorf("%w: connection refused", federation.ErrNotSent)
	case x < loss.Refused+loss.Request:
		d.w.report.Lost++
		return fmt.Errorf("%w: request lost", federation.ErrUnavailable)
	case x < loss.Refused+loss.Request+loss.Reply:
		d.w.report.Lost++
		_ = do()
		return fmt.Errorf("%w: reply lost", federation.ErrUnavailable)
	}
	return do()
}

func (d *lossy) Observe(ctx context.Context) (out *federation.Observation, err error) {
	err = d.call(func() (err error) { out, err = d.Driver.Observe(ctx); return })
	return
}

func (d *lossy) Submit(ctx context.Context, s federation.Submission) (out federation.Receipt, err error) {
	err = d.call(func() (err error) { out, err = d.Driver.Submit(ctx, s); return })
	return
}

func (d *lossy) Jobs(ctx context.Context, m federation.Mark) (out federation.JobsReport, err error) {
	err = d.call(func() (err error) { out, err = d.Driver.Jobs(ctx, m); return })
	return
}

func (d *lossy) Lookup(ctx context.Context, ref federation.JobRef) (out federation.SiteJob, err error) {
	err = d.call(func() (err error) { out, err = d.Driver.Lookup(ctx, ref); return })
	return
}

func (d *lossy) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return d.call(func() error { return d.Driver.Cancel(ctx, ref, tasks) })
}
