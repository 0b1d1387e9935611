package simsite

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// DriverConfig is what a direct driver needs to know.
type DriverConfig struct {
	FirstID, LastID federation.JobID // the federated range; default that of package federation
}

// Driver drives a site by calling it: no HTTP, no JSON, the same contract and the same faults. It acts as SlurmUser.
type Driver struct {
	s   *Site
	cfg DriverConfig
}

var _ federation.Driver = (*Driver)(nil)

// Driver returns a driver of the site. Several are independent of each other.
func (s *Site) Driver(cfg DriverConfig) *Driver {
	def(&cfg.FirstID, federation.FirstJobID)
	def(&cfg.LastID, federation.LastJobID)
	return &Driver{s: s, cfg: cfg}
}

func (d *Driver) caller() Caller { return Caller{Name: d.s.cfg.SlurmUser, Privileged: true} }

// call carries out one operation under the site's faults. What act finds is an error only if the site has answered.
func (d *Driver) call(ctx context.Context, op Op, act func() error) error {
	if err := ctx.Err(); err != nil {
		return d.fail(op, fmt.Errorf("%w: %w", federation.ErrNotSent, err))
	}
	var acted error
	fault, err := d.s.through(ctx, op, func() {
		d.s.lock()
		defer d.s.mu.Unlock()
		acted = act()
	})
	switch {
	case errors.Is(err, errRefused) || fault == NoReach:
		return d.fail(op, fmt.Errorf("%w: connection refused", federation.ErrNotSent))
	case err != nil:
		return d.fail(op, fmt.Errorf("%w: %w", federation.ErrUnavailable, err))
	case fault != "":
		return d.fail(op, &spoiled{fault})
	case acted != nil:
		return d.fail(op, translate(acted))
	}
	return nil
}

// spoiled is an answer that a fault has made worthless.
type spoiled struct{ fault FaultKind }

func (e *spoiled) Error() string { return "answer spoiled: " + string(e.fault) }
func (e *spoiled) Unwrap() error { return federation.ErrUnavailable }

func (d *Driver) fail(op Op, err error) error {
	return fmt.Errorf("site %s: %s: %w", d.s.cfg.Name, op, err)
}

// translate turns a refusal of the site into the error that the slurm driver would return.
func translate(err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		return &federation.SlurmError{Kind: r.Kind, Number: r.Number, Text: r.Text}
	}
	return err
}

// Submit implements [federation.Driver].
func (d *Driver) Submit(ctx context.Context, sub federation.Submission) (federation.Receipt, error) {
	desc, err := describe(&sub)
	if err != nil {
		return federation.Receipt{}, err
	}
	var r federation.Receipt
	err = d.call(ctx, OpSubmit, func() error {
		id, warnings, err := d.s.submit(d.caller(), desc)
		if err == errDuplicate {
			r, err = d.adopt(&sub)
			return err
		}
		r = federation.Receipt{SiteJobID: id}
		if desc.Hold == nil {
			r.Warnings = warnings
		}
		return err
	})
	if err != nil {
		return federation.Receipt{}, err
	}
	return r, nil
}

// adopt looks at the job that has the ID already: it is ours if it has our key.
func (d *Driver) adopt(sub *federation.Submission) (federation.Receipt, error) {
	j := d.s.jobs[uint32(sub.Job.ID)]
	switch {
	case j.key == sub.Key && j.state == federation.Failed && j.nodes == "" && j.stateText == string(federation.ReasonBadConstraints):
		return federation.Receipt{}, errNodeConfig
	case j.key == sub.Key:
		return federation.Receipt{SiteJobID: j.id, Adopted: true}, nil
	case j.state.Ended() && sameJob(j.key, sub.Key):
		return federation.Receipt{}, fmt.Errorf("%w: an earlier attempt of the job is still in the controller's memory", federation.ErrUnavailable)
	}
	return federation.Receipt{}, errDuplicate
}

// sameJob reports whether two attempt keys ("fsub:NAME:ID.NUMBER.TIME") name the same job of the same federation.
func sameJob(a, b string) bool { return attempted(a) != "" && attempted(a) == attempted(b) }

func attempted(key string) string {
	for range 2 {
		key = key[:max(0, strings.LastIndexByte(key, '.'))]
	}
	return key
}

// Cancel implements [federation.Driver].
func (d *Driver) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return d.call(ctx, OpKill, func() error {
		err := d.s.kill(d.caller(), targetText(ref.ID, tasks), federation.Signal{})
		if err == errJobID || err == errAlreadyDone {
			return nil
		}
		return err
	})
}

// Signal implements [federation.Driver].
func (d *Driver) Signal(ctx context.Context, ref federation.JobRef, tasks []int, sig federation.Signal) error {
	if signalNumber(sig.Name) == 0 {
		return d.fail(OpKill, fmt.Errorf("%w: signal %q", federation.ErrInvalid, sig.Name))
	}
	return d.call(ctx, OpKill, func() error { return d.s.kill(d.caller(), targetText(ref.ID, tasks), sig) })
}

func targetText(id federation.JobID, tasks []int) string {
	text := id.String()
	if len(tasks) > 0 {
		list := make([]string, len(tasks))
		for i, t := range tasks {
			list[i] = strconv.Itoa(t)
		}
		text += "_[" + strings.Join(list, ",") + "]"
	}
	return text
}

// Hold implements [federation.Driver].
func (d *Driver) Hold(ctx context.Context, ref federation.JobRef) error {
	return d.hold(ctx, ref.ID, true)
}

// Release implements [federation.Driver].
func (d *Driver) Release(ctx context.Context, ref federation.JobRef) error {
	return d.hold(ctx, ref.ID, false)
}

func (d *Driver) hold(ctx context.Context, id federation.JobID, on bool) error {
	return d.call(ctx, OpUpdate, func() error { return d.s.update(d.caller(), uint32(id), &wire.JobDesc{Hold: &on}) })
}

// describe turns a submission into what the site is asked for, as the slurm driver does.
func describe(s *federation.Submission) (*wire.JobDesc, error) {
	sp := s.Job.Spec
	d := &wire.JobDesc{JobID: int64(s.Job.ID), UserID: number(s.User.UID), GroupID: number(s.User.GID), AdminComment: s.Key,
		Name: sp.Name, Account: s.Job.Account, Partition: s.Partition, QOS: sp.QOS, Reservation: sp.Reservation, Comment: sp.Comment,
		Constraints: sp.Constraint, Array: sp.Array, Requeue: sp.Requeue, Script: s.Payload.Script, WorkDir: sp.WorkDir,
		Environment: wire.Environment(s.Payload.Environment), StdIn: sp.Input, StdOut: sp.Output, StdErr: sp.Error, Tasks: sp.NTasks,
		TasksPerNode: sp.NTasksPerNode, CPUsPerTask: sp.CPUsPerTask}
	def(&d.Account, sp.Account)
	if s.Job.Held != federation.NotHeld {
		hold := true
		d.Hold = &hold
	}
	if sp.Nice < 0 {
		return nil, fmt.Errorf("%w: only operators may ask for a negative --nice", federation.ErrInvalid)
	} else if sp.Nice > 0 {
		d.Nice = &sp.Nice
	}
	if sp.MinNodes > 0 {
		d.Nodes = fmt.Sprintf("%d-%d", sp.MinNodes, max(sp.MinNodes, sp.MaxNodes))
		def(&d.Tasks, sp.MinNodes*max(1, sp.NTasksPerNode))
	}
	if len(d.Environment) == 0 {
		d.Environment = wire.Environment{"SLURM_SUBMIT_DIR=" + sp.WorkDir}
	}
	describeResources(d, sp)
	var err error
	if d.RequiredNodes, err = hostlist.Expand(sp.NodeList); err == nil {
		d.ExcludedNodes, err = hostlist.Expand(sp.Exclude)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %v", federation.ErrInvalid, err)
	}
	return d, nil
}

func number(id uint32) wire.Text { return wire.Text(strconv.FormatUint(uint64(id), 10)) }

func describeResources(d *wire.JobDesc, sp *sbatch.Spec) {
	switch {
	case sp.MemPerNode == sbatch.MemAll:
		d.MemoryPerNode = wire.Num(0)
	case sp.MemPerNode > 0:
		d.MemoryPerNode = wire.Num(int64(sp.MemPerNode))
	case sp.MemPerCPU > 0:
		d.MemoryPerCPU = wire.Num(int64(sp.MemPerCPU))
	case sp.MemPerGPU > 0:
		d.MemoryPerTRES = fmt.Sprintf("gres/gpu:%d", sp.MemPerGPU)
	}
	if sp.Exclusive == "exclusive" {
		d.Shared = wire.Strings{"none"}
	}
	if sp.Switches > 0 {
		d.RequiredSwitches, d.WaitForSwitch = wire.Num(int64(sp.Switches)), int(sp.SwitchesWait/time.Second)
	}
	d.TRESPerNode = strings.Trim(gres.Prefixed("gres/gpu:", sp.GPUsPerNode)+","+gres.Prefixed("gres/", sp.GRES), ",")
	d.TRESPerJob, d.TRESPerTask = gres.Prefixed("gres/gpu:", sp.GPUs), gres.Prefixed("gres/gpu:", sp.GPUsPerTask)
	switch {
	case sp.TimeLimit == sbatch.Unlimited:
		d.TimeLimit = wire.Inf()
	case sp.TimeLimit > 0:
		d.TimeLimit = wire.Num(int64(sp.TimeLimit / time.Minute))
	}
	if !sp.Begin.IsZero() {
		d.BeginTime = wire.Num(sp.Begin.Unix())
	}
}
