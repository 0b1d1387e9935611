package cloud_test

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// world is a cloud, the records and, while there is one, a driver.
type world struct {
	testing.TB
	cloud  *cloudtest.Provider
	store  *cloudtest.Store
	server *cloudtest.AgentServer
	cfg    cloud.Config
	driver *cloud.Driver
	stop   func()
	next   federation.JobID
}

// people are alice and bob.
type people struct{}

func (people) Lookup(_ context.Context, name string) (agentapi.User, error) {
	switch name {
	case "alice":
		return agentapi.User{Name: name, UID: 2001, GID: 2001, Home: "/home/alice", Shell: "/bin/bash"}, nil
	case "bob":
		return agentapi.User{Name: name, UID: 2002, GID: 2002, Home: "/home/bob", Shell: "/bin/bash"}, nil
	}
	return agentapi.User{}, federation.ErrNotFound
}

// offer is an offering of machines with 4 CPUs and a GPU.
func offer(id string, price float64) provider.Offering {
	return provider.Offering{ID: id, Type: id, Region: "here", Zone: "here-a", Market: provider.OnDemand, CPUs: 4, Mem: 16000, GPUs: 1, GPUType: "l4", Arch: "x86_64",
		Price: decision.Dollars(price), Boot: 40 * time.Second}
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, store: &cloudtest.Store{}, server: &cloudtest.AgentServer{}, next: 30_000_000}
	w.cloud = &cloudtest.Provider{Offers: []provider.Offering{offer("small", 1)}, Boot: 5 * time.Second, Lag: 3 * time.Second, AgentServer: w.server}
	w.cfg = cloud.Config{Site: "sky", Provider: w.cloud, Store: w.store, AgentServer: w.server, Secret: []byte("0123456789abcdef"), Users: people{},
		Logger: slog.New(slog.DiscardHandler), Pools: []cloud.PoolConfig{{Name: "main", Max: 8, Idle: 2 * time.Minute}}, Boot: agentapi.Boot{PowerOff: true}}
	if testing.Verbose() {
		w.cfg.Logger = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	return w
}

// start starts a driver over what is there.
func (w *world) start() {
	w.Helper()
	d, err := cloud.New(w.cfg)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := d.Run(ctx); err != nil {
			w.Errorf("Run: %v", err)
		}
	})
	w.driver = d
	w.stop = sync.OnceFunc(func() {
		w.server.Remove(w.cfg.Site)
		cancel()
		wg.Wait()
	})
	w.Cleanup(w.stop)
}

// ready starts a driver and waits until it can take jobs.
func (w *world) ready() {
	w.Helper()
	w.start()
	w.until("the driver is ready", time.Minute, func() bool {
		_, err := w.driver.Observe(context.Background())
		return err == nil
	})
}

func (w *world) until(what string, within time.Duration, ok func() bool) {
	w.Helper()
	for end := time.Now().Add(within); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			w.Fatalf("%s: not within %s", what, within)
		}
	}
}

// job is a submission of alice's that runs script.
func (w *world) job(script string, change func(*federation.Submission)) federation.Submission {
	w.next++
	j := &federation.Job{ID: w.next, User: "alice", UID: 2001, GID: 2001, Submit: time.Now().UTC().Truncate(time.Microsecond), Attempt: 1}
	j.Spec = &sbatch.Spec{Name: "job", TimeLimit: time.Hour, WorkDir: "/tmp", CPUsPerTask: 4}
	s := federation.Submission{Job: j, Partition: "main", User: federation.SiteUser{Name: "alice", UID: 2001, GID: 2001}, First: true,
		Payload: sbatch.Payload{Script: "#!/bin/bash\n" + script, Environment: []string{"PATH=/usr/bin:/bin"}}}
	if change != nil {
		change(&s)
	}
	d := decision.Decision{Claim: int64(w.next), Offers: []*decision.Offer{&s.Offer}}
	s.Claims = d.Claims()
	for i := range s.Claims {
		s.Claims[i].Partition = cmp.Or(s.Claims[i].Partition, s.Partition)
	}
	s.Key = federation.AttemptKey("test", j, 1)
	return s
}

// submit hands a job over.
func (w *world) submit(script string, change func(*federation.Submission)) federation.JobID {
	w.Helper()
	s := w.job(script, change)
	if _, err := w.driver.Submit(context.Background(), s); err != nil {
		w.Fatalf("Submit: %v", err)
	}
	return s.Job.ID
}

func (w *world) lookup(id federation.JobID) federation.SiteJob {
	w.Helper()
	j, err := w.driver.Lookup(context.Background(), federation.JobRef{ID: id})
	if err != nil {
		w.Fatalf("Lookup(%d): %v", id, err)
	}
	return j
}

func (w *world) wants(id federation.JobID, state federation.State, within time.Duration) federation.SiteJob {
	w.Helper()
	var j federation.SiteJob
	for end := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		if j = w.lookup(id); j.State == state {
			return j
		}
		if time.Now().After(end) {
			w.Fatalf("job %d is %s, not %s within %s: %+v", id, j.State, state, within, j)
		}
	}
}

// machines are the records of all machines, by host name and number of record.
func (w *world) records(kind records.PoolKind) []records.PoolRecord {
	w.Helper()
	list, err := w.store.PoolHistory(context.Background(), w.cfg.Site, kind, time.Time{}, 1<<20)
	if err != nil {
		w.Fatal(err)
	}
	return list
}

// sound fails if a promise was broken.
func (w *world) sound() {
	w.Helper()
	for _, f := range w.cloud.Faults() {
		w.Error(f)
	}
}

var errLost = fmt.Errorf("the reply was lost: %w", federation.ErrUnavailable)
