package controller

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/federation/driver"
	"fsub/federation/place"
	"fsub/federation/reasons"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/topology"
)

// fakeSite is a driver over a map: a site with one partition of GPU nodes that runs nothing by itself. Tests say what happens.
type fakeSite struct {
	now   func() time.Time
	nodes int
	leaf  int                                      // nodes below each leaf switch; 0: it tells of none
	state string                                   // of its nodes; "": IDLE
	jobs  map[federation.JobID]*federation.SiteJob // in the controller's memory
	books map[federation.JobID]*federation.SiteJob // accounting

	shows        bool            // what runs, as holding all GPUs of n1
	down         map[string]bool // nodes
	fail         error           // what every call fails with
	refuses      error           // what Submit fails with
	failAfter    error           // what Submit fails with after it has acted
	submits      int
	lookups      int
	cancelled    []federation.JobID
	held         []federation.JobID
	released     []federation.JobID
	late         []federation.SiteJob // second copies that the next report tells of
	signals      []federation.Signal
	associations federation.Associations // nil: it keeps no accounts
	pool         bool                    // it has no slurmctld
	asked        map[federation.JobID]*sbatch.Spec
	extra        map[string]string // of nodes' records
}

func (f *fakeSite) Observe(context.Context) (*federation.Observation, error) {
	if f.fail != nil {
		return nil, f.fail
	}
	o := &federation.Observation{At: f.now(), Cluster: "fake", Version: "24.11.5", Mode: federation.Pinned, Associations: f.associations, NoSlurm: f.pool}
	p := federation.Partition{Name: "main", Default: true, Up: true, State: "UP", MaxTime: sbatch.Unlimited}
	for i := range f.nodes {
		name := fmt.Sprintf("n%d", i+1)
		p.Nodes = append(p.Nodes, name)
		o.Nodes = append(o.Nodes, federation.Node{Name: name, State: []string{cmp.Or(f.state, "IDLE")}, CPUs: 16, Mem: 64000,
			GRES: []federation.GRES{{Name: "gpu", Type: "h100", Total: 4}}, Partitions: []string{"main"}})
		if text := f.extra[name]; text != "" {
			o.Nodes[i].Info = &federation.NodeInfo{Extra: text}
		}
		if f.down[name] {
			o.Nodes[i].State = []string{"DOWN", "NOT_RESPONDING"}
		}
	}
	o.Partitions = []federation.Partition{p}
	if f.leaf > 0 {
		paths := map[string]string{}
		for i := range o.Nodes {
			paths[o.Nodes[i].Name] = fmt.Sprintf("core:leaf%d", i/f.leaf)
		}
		o.Tree = topology.FromPaths(paths)
	}
	for id, j := range f.jobs {
		if f.shows && j.State == federation.Running {
			o.Running = append(o.Running, federation.RunningJob{Job: id, End: j.Start.Add(time.Hour), Nodes: []string{"n1"}, CPUs: 1, GRES: []federation.GRES{{Name: "gpu", Type: "h100", Used: 4}}})
			o.Nodes[0].GRES[0].Used += 4
		}
	}
	return o, nil
}

func (f *fakeSite) Submit(_ context.Context, s federation.Submission) (federation.Receipt, error) {
	f.submits++
	if f.asked == nil {
		f.asked = map[federation.JobID]*sbatch.Spec{}
	}
	f.asked[s.Job.ID] = s.Job.Spec
	if err := cmp.Or(f.fail, f.refuses); err != nil {
		return federation.Receipt{}, err
	}
	if old := f.jobs[s.Job.ID]; old != nil {
		if old.Key != s.Key {
			if old.State.Ended() {
				return federation.Receipt{}, federation.ErrRemembered
			}
			return federation.Receipt{}, federation.ErrConflict
		}
		return federation.Receipt{SiteJobID: uint32(s.Job.ID), Adopted: true}, nil
	}
	f.jobs[s.Job.ID] = &federation.SiteJob{ID: s.Job.ID, Key: s.Key, State: federation.Pending, Partition: "main", Submit: f.now(), Account: f.accountOf(s.Job)}
	if err := f.failAfter; err != nil {
		f.failAfter = nil
		return federation.Receipt{}, err
	}
	return federation.Receipt{SiteJobID: uint32(s.Job.ID)}, nil
}

// accountOf is what slurmctld takes for a job's account: the one that it names, else its user's default one.
func (f *fakeSite) accountOf(j *federation.Job) string {
	for _, a := range f.associations[j.User] {
		if j.Spec.Account == "" && a.Default {
			return a.Account
		}
	}
	return j.Spec.Account
}

func (f *fakeSite) Jobs(context.Context, federation.Mark) (federation.JobsReport, error) {
	if f.fail != nil {
		return federation.JobsReport{}, f.fail
	}
	r := federation.JobsReport{At: f.now(), Known: map[federation.JobID]bool{}, Late: f.late}
	f.late = nil
	for id, j := range f.jobs {
		r.Known[id] = true
		r.Changed = append(r.Changed, *j)
	}
	return r, nil
}

func (f *fakeSite) Lookup(_ context.Context, ref federation.JobRef) (federation.SiteJob, error) {
	id := ref.ID
	f.lookups++
	if f.fail != nil {
		return federation.SiteJob{}, f.fail
	}
	if j := f.jobs[id]; j != nil {
		return *j, nil
	}
	if j := f.books[id]; j != nil {
		found := *j
		found.FromAccounting = true
		return found, nil
	}
	return federation.SiteJob{}, federation.ErrNotFound
}

func (f *fakeSite) Cancel(_ context.Context, ref federation.JobRef, _ []int) error {
	id := ref.ID
	if f.fail != nil {
		return f.fail
	}
	f.cancelled = append(f.cancelled, id)
	if j := f.jobs[id]; j != nil && !j.State.Ended() {
		j.State, j.End = federation.Cancelled, f.now()
	}
	return nil
}

func (f *fakeSite) Signal(_ context.Context, _ federation.JobRef, _ []int, sig federation.Signal) error {
	f.signals = append(f.signals, sig)
	return nil
}
func (f *fakeSite) Release(_ context.Context, ref federation.JobRef) error {
	f.released = append(f.released, ref.ID)
	return nil
}
func (f *fakeSite) Hold(_ context.Context, ref federation.JobRef) error {
	f.held = append(f.held, ref.ID)
	if j := f.jobs[ref.ID]; j != nil && j.State.Ended() {
		return fmt.Errorf("%w: it is no longer pending", federation.ErrConflict)
	}
	return nil
}

// start and end are what the site does with a job.
func (f *fakeSite) start(id federation.JobID) {
	j := f.jobs[id]
	j.State, j.Start, j.Nodes, j.TRES = federation.Running, f.now(), "n1", "cpu=1,node=1,gres/gpu=2,gres/gpu:h100=2"
}

func (f *fakeSite) end(id federation.JobID, s federation.State) {
	j := f.jobs[id]
	j.State, j.End = s, f.now()
}

// bench is a controller over two fake sites, "cheap" and "dear", in a time of its own.
type bench struct {
	t      *testing.T
	clock  time.Time
	path   string
	store  *store.Store
	cheap  *fakeSite
	dear   *fakeSite
	ctl    *Controller
	out    *logSink
	margin decision.Dollars // see place.Policy.MoveMargin
	config []func(*Config)  // what daemons are configured with from now on
}

// logSink passes on what is logged.
type logSink struct{ io.Writer }

func newBench(t *testing.T) *bench {
	b := &bench{t: t, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), out: &logSink{io.Discard}}
	b.path = filepath.Join(t.TempDir(), "x.db")
	b.open()
	t.Cleanup(func() {
		b.checkCharges()
		b.store.Close()
	})
	site := func() *fakeSite {
		return &fakeSite{now: b.now, nodes: 2, jobs: map[federation.JobID]*federation.SiteJob{}, books: map[federation.JobID]*federation.SiteJob{}}
	}
	b.cheap, b.dear = site(), site()
	b.restart()
	b.rounds(3)
	return b
}

func (b *bench) open() {
	b.t.Helper()
	st, err := store.Open(b.t.Context(), store.Config{Path: b.path, Volatile: true})
	if err != nil {
		b.t.Fatal(err)
	}
	b.store = st
}

func (b *bench) now() time.Time { return b.clock }

// restart is a new daemon over the same store.
func (b *bench) restart() {
	b.t.Helper()
	policy := place.DefaultPolicy()
	policy.MoveMargin = cmp.Or(b.margin, policy.MoveMargin)
	cfg := Config{Federation: "test", Store: b.store, Policy: policy, Logger: slog.New(slog.NewTextHandler(b.out, nil)), Now: b.now, Inline: true,
		Restored: b.store.Copied(), Compared: b.store.Compared, Sites: []Site{
			{Name: "cheap", Driver: b.cheap, Prices: accounting.Prices{"gres/gpu": 1}},
			{Name: "dear", Driver: b.dear, Prices: accounting.Prices{"gres/gpu": 3}},
		}}
	for _, change := range b.config {
		change(&cfg)
	}
	ctl, err := New(b.t.Context(), cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	b.ctl = ctl
}

// with is a new daemon that is configured otherwise, and has seen its sites.
func (b *bench) with(change func(*Config)) {
	b.t.Helper()
	b.config = append(b.config, change)
	b.restart()
	b.rounds(3)
}

// drive has the cheap site driven by d from now on.
func (b *bench) drive(d federation.Driver) {
	s := b.ctl.sites.byName["cheap"]
	s.driver, s.can = d, driver.AbilitiesOf(d)
}

// rounds lets n rounds pass, a fifth of a second apart.
func (b *bench) rounds(n int) {
	for range n {
		b.ctl.Round(b.t.Context())
		b.clock = b.clock.Add(200 * time.Millisecond)
	}
}

// wait lets a time pass.
func (b *bench) wait(d time.Duration) {
	b.rounds(int(d / (200 * time.Millisecond)))
	for id, j := range b.ctl.jobs.All() { // whatever has been changed of it
		if j.Demand != demand.Of(j.Spec) {
			b.t.Errorf("the demand of job %d is not that of its Spec: %+v", id, j.Demand)
		}
	}
}

func (b *bench) submit(change func(*sbatch.Spec)) federation.JobID {
	b.t.Helper()
	j := federation.Job{User: "alice", UID: 7001, State: federation.Pending, Submit: b.clock,
		Spec: &sbatch.Spec{Name: "x", GPUsPerNode: "2", TimeLimit: time.Hour, WorkDir: "/"}}
	if change != nil {
		change(j.Spec)
	}
	if err := b.store.CreateJob(b.t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
		b.t.Fatal(err)
	}
	return j.ID
}

func (b *bench) request(r action.Request) {
	b.t.Helper()
	if _, err := b.store.AddRequest(b.t.Context(), r); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) job(id federation.JobID) federation.Job {
	b.t.Helper()
	j, err := b.store.Job(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return j
}

func (b *bench) attempts(id federation.JobID) []federation.Attempt {
	b.t.Helper()
	a, err := b.store.Attempts(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// want checks a job's state, reason (if given) and site.
func (b *bench) want(id federation.JobID, state federation.State, reason reasons.Reason, site federation.SiteName) {
	b.t.Helper()
	j := b.job(id)
	if j.State != state || reason != "" && j.Reason != reason || j.Site != site {
		events, _ := b.store.Events(b.t.Context(), id)
		b.t.Fatalf("job %d is %s %s at %q, want %s %s at %q; history: %v", id, j.State, j.Reason, j.Site, state, reason, site, events)
	}
}

// noLookup is a site whose accounting does not answer.
type noLookup struct{ *fakeSite }

func (noLookup) Lookup(context.Context, federation.JobRef) (federation.SiteJob, error) {
	return federation.SiteJob{}, fmt.Errorf("%w: slurmdbd does not answer", federation.ErrUnavailable)
}

// part is the job that a task of a spread array has become.
func (b *bench) part(array federation.JobID, index int) federation.Job {
	b.t.Helper()
	for _, j := range b.partsOf(array) {
		if j.Part.Index == index {
			return j
		}
	}
	b.t.Fatalf("task %d of array %d is no job of its own", index, array)
	return federation.Job{}
}

func (b *bench) partsOf(array federation.JobID) []federation.Job {
	b.t.Helper()
	jobs, err := b.store.Jobs(b.t.Context(), federation.JobQuery{IDs: []federation.JobID{array}})
	if err != nil {
		b.t.Fatal(err)
	}
	return slices.DeleteFunc(jobs, func(j federation.Job) bool { return j.Part == nil })
}
