package cloud

import (
	"context"
	"fmt"
	"io"

	"fsub/cloud/agentapi"
	"fsub/federation"
)

// Driver makes a site of the federation out of a provider's machines.
type Driver struct {
	cfg Config
}

var (
	_ federation.Driver    = (*Driver)(nil)
	_ federation.Notifier  = (*Driver)(nil)
	_ federation.Runner    = (*Driver)(nil)
	_ federation.Requeuer  = (*Driver)(nil)
	_ federation.Measurer  = (*Driver)(nil)
	_ federation.Limited   = (*Driver)(nil)
	_ federation.LogReader = (*Driver)(nil)
	_ Agents               = (*Driver)(nil)
)

// New makes a driver. It does nothing before Run.
func New(cfg Config) (*Driver, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &Driver{cfg: cfg}, nil
}

var errNotYet = fmt.Errorf("the pool does not run yet: %w", federation.ErrNotSent)

func (d *Driver) Notify(f func(federation.News)) {}
func (d *Driver) Run(ctx context.Context) error  { <-ctx.Done(); return nil }
func (d *Driver) Limits() map[string]string      { return nil }
func (d *Driver) Observe(ctx context.Context) (*federation.Observation, error) {
	return nil, errNotYet
}
func (d *Driver) Submit(ctx context.Context, s federation.Submission) (federation.Receipt, error) {
	return federation.Receipt{}, errNotYet
}
func (d *Driver) Jobs(ctx context.Context, mark federation.Mark) (federation.JobsReport, error) {
	return federation.JobsReport{}, errNotYet
}
func (d *Driver) Lookup(ctx context.Context, ref federation.JobRef) (federation.SiteJob, error) {
	return federation.SiteJob{}, errNotYet
}
func (d *Driver) Cancel(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return errNotYet
}
func (d *Driver) Signal(ctx context.Context, ref federation.JobRef, tasks []int, sig federation.Signal) error {
	return errNotYet
}
func (d *Driver) Hold(ctx context.Context, ref federation.JobRef) error    { return errNotYet }
func (d *Driver) Release(ctx context.Context, ref federation.JobRef) error { return errNotYet }
func (d *Driver) Requeue(ctx context.Context, ref federation.JobRef, tasks []int) error {
	return errNotYet
}
func (d *Driver) Measured(ctx context.Context, refs []federation.JobRef) (map[federation.JobID][]federation.Usage, error) {
	return nil, errNotYet
}
func (d *Driver) ReadLog(ctx context.Context, j *federation.Job, a *federation.Attempt, task int, stderr bool, offset int64, max int) (federation.LogPart, error) {
	return federation.LogPart{}, errNotYet
}
func (d *Driver) Hello(ctx context.Context, gang string, h agentapi.Hello) (Let, error) {
	return Let{}, errNotYet
}
func (d *Driver) Poll(ctx context.Context, m MachineID, p agentapi.Poll) (agentapi.Orders, error) {
	return agentapi.Orders{}, errNotYet
}
func (d *Driver) Report(ctx context.Context, m MachineID, r agentapi.Report) error { return errNotYet }
func (d *Driver) Log(ctx context.Context, m MachineID, run, stream string, offset int64, body io.Reader) (int64, error) {
	return 0, errNotYet
}
func (d *Driver) Owner(m MachineID, run string) (string, error) { return "", errNotYet }
