package daemons

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api"
	"fsub/federation/api/identity"
	"fsub/federation/journal"
	"fsub/federation/peer"
	"fsub/federation/store"
	"fsub/sbatch"
	"fsub/testbed/apitest"
	"fsub/testbed/postgres"
)

// alike are a server that leads and one that follows it, in this process, on one database.
type alike struct {
	store      *store.Store
	books      *accounts.Books
	controller *apitest.Controller
	sites      *api.Following
	follower   *api.Server
	leads      string // sockets
	follows    string
	clock      atomic.Int64
}

func (a *alike) now() time.Time { return time.Unix(1_800_000_000+a.clock.Load(), 0) }

func newAlike(t *testing.T) *alike {
	t.Helper()
	pg := postgres.Start(t)
	config := store.Config{Postgres: &store.Postgres{URL: pg.URL()}}
	a := new(alike)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	a.store, err = store.Open(t.Context(), config)
	must(err)
	t.Cleanup(func() { a.store.Close() })
	a.books, err = accounts.Open(t.Context(), a.store, a.now)
	must(err)
	a.controller = apitest.NewController(a.store)
	a.clockedSites(0)
	leads := api.NewServer(api.Config{Store: a.store, Controller: a.controller, Usage: a.store, Books: a.store, Accounts: api.Accounts{Books: a.books}, Now: a.now})
	keys, err := peer.NewKeys([]byte(strings.Repeat("s", peer.MinSecret)))
	must(err)
	between, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go serve(t.Context(), leads, keys.Listen(between))
	forward := peer.NewForwarder(keys, slog.New(slog.DiscardHandler))
	forward.Follow(between.Addr().String())

	reads, err := store.OpenReader(t.Context(), config)
	must(err)
	t.Cleanup(func() { reads.Close() })
	books, err := accounts.Open(t.Context(), reads, a.now)
	must(err)
	a.sites = api.NewFollowing(forward.Get)
	a.follower = api.NewServer(api.Config{Store: reads, Controller: a.sites, Usage: reads, Books: reads, Accounts: api.Accounts{Books: books}, Now: a.now, Leader: http.NotFoundHandler()})
	dir, err := os.MkdirTemp("", "alike")
	must(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	a.leads, a.follows = filepath.Join(dir, "l"), filepath.Join(dir, "f")
	for path, s := range map[string]*api.Server{a.leads: leads, a.follows: a.follower} {
		l, err := net.Listen("unix", path)
		must(err)
		go serve(t.Context(), s, l)
	}
	must(a.sites.Update(t.Context(), a.follower))
	must(a.follower.Queue().Follow(t.Context()))
	return a
}

func serve(ctx context.Context, h http.Handler, l net.Listener) {
	srv := &http.Server{Handler: h, ConnContext: identity.ConnContext}
	context.AfterFunc(ctx, func() { srv.Close() })
	srv.Serve(l)
}

// clockedSites has the sites be otherwise in what rows depend on.
func (a *alike) clockedSites(world int) {
	a.controller.SetSites(&federation.Site{Name: "alpha", Users: map[string]federation.SiteUser{"root": {Name: "r", UID: 7}}, Seen: &federation.Observation{
		Partitions: []federation.Partition{{Name: "main", Default: world < 2, DefaultTime: time.Duration(1+world%2) * time.Hour, DefMemPerCPU: 7}, {Name: "debug", Default: world == 2}},
		Nodes:      []federation.Node{{Name: "a1", CPUs: 4, GRES: []federation.GRES{{Name: "gpu", Type: []string{"h100", "a100", "h100"}[world], Total: 4}}}},
	}})
}

// lists are what is compared.
var lists = []string{"/fed/v1/queue", "/fed/v1/queue?live=1&sort=-i", "/fed/v1/queue?users=root", "/fed/v1/queue?states=RUNNING&cost=1", "/fed/v1/jobs", "/fed/v1/accounts", "/slurm/v0.0.42/jobs", "/slurm/v0.0.42/jobs/state",
	"/slurmdb/v0.0.42/jobs", "/fed/v1/accounting"}

// Whatever is written, a daemon that stands by lists what the leader lists, at once.
func TestFollowerIsAlike(t *testing.T) {
	a := newAlike(t)
	client := func(socket string) *http.Client {
		return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
	}
	leads, follows := client(a.leads), client(a.follows)
	var jobs []*federation.Job
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			jobs = a.write(t, jobs)
			path := rapid.SampledFrom(lists).Draw(t, "list")
			want, err1 := get(leads, path)
			got, err2 := get(follows, path)
			if err1 != nil || err2 != nil || got != want {
				t.Fatalf("%s: %v, %v\n the leader lists %.3000q\nthe other one %.3000q", path, err1, err2, want, got)
			}
			compared++
		}
	})
	t.Logf("%d lists were the same", compared)
}

// write changes something, as a controller, users and operators do.
func (a *alike) write(t *rapid.T, jobs []*federation.Job) []*federation.Job {
	batch := &journal.Batch{}
	pick := func() *federation.Job { return rapid.SampledFrom(jobs).Draw(t, "job") }
	switch step := rapid.IntRange(0, 7).Draw(t, "step"); {
	case step < 2 || len(jobs) == 0:
		j := &federation.Job{User: rapid.SampledFrom([]string{"root", "nobody"}).Draw(t, "user"), State: federation.Pending, Submit: a.now(), Priority: rapid.Uint32Range(0, 2).Draw(t, "priority"),
			Spec: &sbatch.Spec{Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "name"), GPUs: "1", Array: rapid.SampledFrom([]string{"", "", "0-3", "1,5%1"}).Draw(t, "array")}}
		if j.Spec.Array == "" && rapid.Bool().Draw(t, "later") {
			j.Spec.Begin = a.now().Add(30 * time.Second)
		}
		if err := a.store.CreateJob(context.Background(), j, &sbatch.Payload{}); err != nil {
			t.Fatal(err)
		}
		return append(jobs, j)
	case step < 5:
		j := pick()
		j.State = rapid.SampledFrom([]federation.State{federation.Pending, federation.Running, federation.Completed, federation.Cancelled}).Draw(t, "state")
		j.Site, j.Nodes, j.Start, j.End = "", "", time.Time{}, time.Time{}
		if j.State != federation.Pending {
			j.Site, j.Nodes, j.Start = "alpha", "a1", a.now()
		}
		if j.State.Ended() {
			j.End = a.now()
		}
		batch.Jobs = append(batch.Jobs, j)
	case step == 5:
		if j := pick(); j.Spec.Array != "" {
			k := &federation.Task{Job: j.ID, Index: 1, SiteJobID: 9, State: federation.Running, Nodes: "a1", Start: a.now()}
			batch.Jobs, batch.Tasks = append(batch.Jobs, j), append(batch.Tasks, k)
		}
	case step == 6:
		a.clock.Add(rapid.SampledFrom([]int64{1, 40, 600}).Draw(t, "seconds"))
	case step == 7:
		a.clockedSites(rapid.IntRange(0, 2).Draw(t, "world"))
		a.clock.Add(3) // the leader's copy of them is as old as that at most
		if err := a.sites.Update(context.Background(), a.follower); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint("account", a.clock.Load())
		if _, err := a.books.Edit(context.Background(), accounts.Editor{Name: "root", Operator: true}, []accounts.Edit{{Op: accounts.Add, Key: accounts.AccountKey(name)}}, "", false); err != nil {
			t.Fatal(err)
		}
	}
	if len(batch.Jobs) > 0 {
		if err := a.store.Commit(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
	}
	return jobs
}

func get(h *http.Client, path string) (string, error) {
	resp, err := h.Get("http://fsub" + path)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.Status + " " + string(text), err
}
