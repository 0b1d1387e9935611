// Package apitest runs the daemon's API for tests: a real [api.Server] on a real unix socket, over a [Store] in memory and
// a [Controller] that carries out requests at once and knows the sites that it was given. Tests of the API and of the
// commands use it; what a daemon decides and does is left to the tests of package controller.
package apitest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/api"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/federation/spending"
	"fsub/sbatch"
)

// Daemon is a running API.
type Daemon struct {
	Socket     string
	Store      *Store
	Usage      *Usage
	Controller *Controller
	Server     *api.Server
	stop       func()
}

// Stop tells the server to end and waits until it has.
func (d *Daemon) Stop() { d.stop() }

// Start serves the API on a socket that every user may connect to, until the test ends. What c leaves empty is filled in.
func Start(t testing.TB, c api.Config) *Daemon {
	t.Helper()
	d := &Daemon{}
	if c.Store == nil {
		d.Store = NewStore()
		c.Store = d.Store
	}
	if c.Usage == nil {
		d.Usage = NewUsage()
		c.Usage = d.Usage
	}
	if c.Controller == nil {
		d.Controller = NewController(c.Store)
		c.Controller = d.Controller
	}
	// Not t.TempDir: its path may be too long for a socket and is closed to other users.
	dir, err := os.MkdirTemp("", "fsub")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d.Socket = filepath.Join(dir, "s")
	l, err := net.Listen("unix", d.Socket)
	if err != nil {
		t.Fatal(err)
	}
	os.Chmod(dir, 0o755)
	os.Chmod(d.Socket, 0o666)
	d.Server = api.NewServer(c)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- d.Server.Serve(ctx, l) }()
	d.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(d.stop)
	return d
}

// Put stores jobs as they are; one without an ID gets the next.
func (d *Daemon) Put(t testing.TB, jobs ...federation.Job) []federation.JobID {
	t.Helper()
	var ids []federation.JobID
	for _, j := range jobs {
		p := sbatch.Payload{Script: "#!/bin/sh\necho secret of " + j.User + "\n", Environment: []string{"OWNER=" + j.User}}
		if err := d.Store.CreateJob(t.Context(), &j, &p); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, j.ID)
	}
	return ids
}

// Controller is a small api.Controller. Settled carries out the requests that wait in the store: a cancelled job ends as
// CANCELLED, hold and release change it, signals are only taken note of.
type Controller struct {
	store api.Store

	mu        sync.Mutex
	sites     []*federation.Site
	judge     func(*federation.Job) error
	decision  decision.Decision
	starts    decision.Starts
	spendings spending.Spendings
	done      []action.Request
}

var _ api.Controller = (*Controller)(nil)

// NewController returns one without sites that accepts every job.
func NewController(s api.Store) *Controller {
	return &Controller{store: s}
}

// SetSites sets what Sites returns, SetRefusal what Judge returns, of whatever job or as SetJudge says, SetDecision what Explain returns.
func (c *Controller) SetSites(s ...*federation.Site) { c.locked(func() { c.sites = s }) }
func (c *Controller) SetRefusal(err error)           { c.SetJudge(func(*federation.Job) error { return err }) }
func (c *Controller) SetJudge(f func(*federation.Job) error) {
	c.locked(func() { c.judge = f })
}
func (c *Controller) SetDecision(d decision.Decision) { c.locked(func() { c.decision = d }) }
func (c *Controller) Sites() (s []*federation.Site)   { c.locked(func() { s = c.sites }); return s }
func (c *Controller) Judge(j *federation.Job) (err error) {
	c.locked(func() {
		if c.judge != nil {
			err = c.judge(j)
		}
	})
	return err
}
func (c *Controller) Wake() {}

// WhyNone returns a function that knows of one site only, local, that it cannot run a job.
func (c *Controller) WhyNone() func(*federation.Job, []federation.SiteName) []decision.Rejection {
	return func(_ *federation.Job, sites []federation.SiteName) []decision.Rejection {
		if len(sites) != 1 || sites[0] != "local" {
			return nil
		}
		return []decision.Rejection{{Site: "local", Reason: reasons.GRES, Why: codes.Because(codes.NoSuchGRES, "gpu")}}
	}
}

// LookAt starts the pending jobs of a site: it had started them already, and nobody has looked.
func (c *Controller) LookAt(site federation.SiteName) {
	jobs, err := c.store.Jobs(context.Background(), federation.JobQuery{Site: site, States: []federation.State{federation.Pending}})
	if err != nil {
		return
	}
	for i := range jobs {
		jobs[i].State, jobs[i].Start = federation.Running, time.Now()
		_ = c.store.Commit(context.Background(), &journal.Batch{Jobs: []*federation.Job{&jobs[i]}})
	}
}

// Try implements api.Controller: the first offer of the decision, on nodes n1 and up.
func (c *Controller) Try(_ context.Context, j *federation.Job) (t decision.Trial, err error) {
	c.locked(func() { t.Decision = c.decision })
	if err = c.Judge(j); err != nil || len(t.Decision.Offers) == 0 {
		return t, err
	}
	o := t.Decision.Offers[0]
	t.Site, t.Partition, t.Start, t.Processors = o.Site, o.Partition, o.Start, 2*o.Nodes
	for i := range o.Nodes {
		t.Nodes = append(t.Nodes, fmt.Sprintf("n%d", i+1))
	}
	return t, nil
}
func (c *Controller) Decision(*federation.Job) (d decision.Decision) {
	c.locked(func() { d = c.decision })
	return d
}

// Priority implements api.Controller.
func (c *Controller) Priority(*federation.Job) []decision.PriorityPart {
	return []decision.PriorityPart{{Name: decision.PriorityFairShare, Points: 1000}, {Name: decision.PriorityWork, Points: -12}}
}

// Explain implements api.Controller: with that decision, and a budget that keeps back each job that waits.
func (c *Controller) Explain(_ context.Context, j *federation.Job) decision.Explained {
	e := decision.Explained{Decision: c.Decision(j)}
	if j.State == federation.Pending {
		e.Priority = c.Priority(j)
		e.Holdbacks = []decision.Holdback{{Kind: decision.HeldByBudget, Text: "account proj may spend $5.00 this month", Details: []string{"job 17 of alice holds $4.00"}, Free: []string{"when 17 ends"}}}
	}
	return e
}

// SetStarts sets what Starts returns.
func (c *Controller) SetStarts(s decision.Starts) { c.locked(func() { c.starts = s }) }

// Starts implements api.Controller.
func (c *Controller) Starts(context.Context) (s decision.Starts, err error) {
	c.locked(func() { s = c.starts })
	return s, nil
}

// SetSpendings sets what Spendings returns.
func (c *Controller) SetSpendings(s spending.Spendings) { c.locked(func() { c.spendings = s }) }

// Spendings implements api.Controller.
func (c *Controller) Spendings(context.Context) (s spending.Spendings, err error) {
	c.locked(func() { s = c.spendings })
	return s, nil
}

// Prospects are of one job that a limit keeps back.
func (c *Controller) Prospects(context.Context, int) (*federation.Prospects, error) {
	job := &federation.Job{ID: 17, User: "alice", Spec: &sbatch.Spec{Account: "proj", Name: "train"}}
	return &federation.Prospects{Now: time.Now(), Sites: c.Sites(), Waiting: []federation.Prospect{{Job: job, Limited: true, Reason: "AssocGrpGRES"}}}, nil
}

// Done are the requests that were carried out.
func (c *Controller) Done() (r []action.Request) {
	c.locked(func() { r = slices.Clone(c.done) })
	return r
}

func (c *Controller) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

// Settled carries out what waits.
func (c *Controller) Settled(ctx context.Context, _ []int64, _ time.Duration) {
	requests, _ := c.store.Requests(ctx, 0)
	for _, r := range requests {
		b := &journal.Batch{Done: []int64{r.Seq}}
		job, err := c.store.Job(ctx, r.Job)
		if err == nil && r.Tasks.Len() == 0 {
			b.Jobs = append(b.Jobs, &job)
			apply(&job, r)
		}
		c.store.Commit(ctx, b)
		c.locked(func() { c.done = append(c.done, r) })
	}
}

func apply(job *federation.Job, r action.Request) {
	switch r.Kind {
	case action.Cancel:
		job.State, job.Cancel, job.CancelBy, job.End = federation.Cancelled, true, r.UID, r.At
	case action.Hold:
		job.Held, job.Reason = federation.HeldUser, reasons.HeldUser
		if r.Operator {
			job.Held, job.Reason = federation.HeldAdmin, reasons.HeldAdmin
		}
	case action.Release:
		job.Held, job.Reason = federation.NotHeld, reasons.Priority
	case action.Requeue, action.Special:
		if r.Kind == action.Special {
			job.Held = federation.HeldSpecial
		}
		job.State, job.Reason, job.Cancel, job.Restarts = federation.Pending, reasons.BeginTime, false, job.Restarts+1
		job.Start, job.End, job.Nodes = time.Time{}, time.Time{}, ""
	case action.Update:
		spec, _ := federation.ChangedSpec(job, r.Change, r.At) // the server has checked them
		job.SetSpec(spec)
	}
}
