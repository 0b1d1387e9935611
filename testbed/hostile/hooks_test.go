package hostile

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/federation/store"
	"fsub/federation/webhooks"
	"fsub/sbatch"
)

// posts is a server that webhooks are delivered to: /NAME takes what comes, but for /dead, which answers nobody.
type posts struct {
	address string

	mu   sync.Mutex
	ids  map[string][]string // of events, by the name of the endpoint
	more chan struct{}       // has one when something came
}

func newPosts(t *testing.T) *posts {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &posts{address: l.Addr().String(), ids: map[string][]string{}, more: make(chan struct{}, 1)}
	srv := &http.Server{Handler: p}
	go srv.Serve(l)
	t.Cleanup(func() { srv.Close() })
	return p
}

func (p *posts) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	if name == "dead" {
		<-r.Context().Done()
		return
	}
	p.mu.Lock()
	p.ids[name] = append(p.ids[name], r.Header.Get("webhook-id"))
	p.mu.Unlock()
	select {
	case p.more <- struct{}{}:
	default:
	}
}

// counts are how many different events each endpoint got. It reports what came in another order than it happened.
func (p *posts) counts(t *testing.T) map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := map[string]int{}
	for name, ids := range p.ids {
		var last [2]int
		for _, id := range ids {
			var at [2]int
			if _, err := fmt.Sscanf(id, "%d.%d", &at[0], &at[1]); err != nil {
				t.Fatal(err)
			}
			switch slices.Compare(at[:], last[:]) {
			case 1:
				out[name]++
			case -1:
				t.Errorf("%s got %s after %v", name, id, last)
			}
			last = at
		}
	}
	return out
}

// filled puts held jobs into the store, of as many users in turn, and for each of these users an endpoint for the ends of jobs, with one more that answers nobody; p nil: none. It returns what
// the daemon's configuration says of them.
func filled(t *testing.T, jobs, users int, p *posts) func(w *world) string {
	return func(w *world) string {
		secret := make([]byte, 32)
		key, err := hkdf.Key(sha256.New, secret, nil, "fsub: secrets of webhooks", 32) // as the daemon derives it
		if err == nil {
			err = errors.Join(os.Mkdir(w.file("state"), 0o700), os.WriteFile(w.file("state/webhooks.key"), secret, 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		box, err := webhooks.NewBox(key)
		if err != nil {
			t.Fatal(err)
		}
		st, err := store.Open(t.Context(), store.Config{Path: w.file("state/fed.db")})
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		var wg sync.WaitGroup
		for k := range 64 {
			wg.Go(func() {
				for i := k; i < jobs; i += 64 {
					j := federation.Job{User: userOf(i % users), UID: uidOf(i % users), GID: uidOf(i % users), SubmitHost: "here", Spec: &sbatch.Spec{Name: "hooked", WorkDir: "/", Hold: true, TimeLimit: time.Minute}, Held: federation.HeldUser}
					if err := st.CreateJob(t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		if p == nil {
			return ""
		}
		log, err := st.Changes(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		add := func(of int, name string) {
			e := webhooks.Endpoint{Definition: webhooks.Definition{Owner: userOf(of), UID: uidOf(of), Name: name, URL: "http://" + p.address + "/" + name, Where: []string{"event=end"}, Made: time.Now().UTC()}, State: webhooks.State{Mark: log.Mark}}
			box.Rotate(&e.Definition, time.Now())
			if err := webhooks.Kept(st).Put(t.Context(), &e); err != nil {
				t.Fatal(err)
			}
		}
		for i := range users {
			add(i, userOf(i))
		}
		add(0, "dead")
		return "webhooks: {allow: [127.0.0.0/8]}\n"
	}
}

func userOf(i int) string { return fmt.Sprintf("u%d", i) }
func uidOf(i int) uint32  { return uint32(firstUID + 1000 + i) }

// end cancels perSecond jobs a second, for as long as there are jobs.
func (w *world) end(t *testing.T, jobs []federation.JobID, perSecond int) {
	c := client.New(w.socket)
	defer c.Close()
	const gap = 50 * time.Millisecond
	tick := time.NewTicker(gap)
	defer tick.Stop()
	for some := range slices.Chunk(jobs, int(float64(perSecond)*gap.Seconds())) {
		<-tick.C
		var refs []v1.JobRef
		for _, id := range some {
			refs = append(refs, v1.JobRef{ID: id})
		}
		if _, err := client.Post[v1.ActResponse](t.Context(), c, "/fed/v1/jobs/cancel", v1.ActRequest{Jobs: refs}); err != nil {
			t.Errorf("cancel: %v", err)
			return
		}
	}
}

// submitAt submits perSecond jobs a second, each at its time though the one before is not answered yet, and returns how long each took from then on.
func (w *world) submitAt(t *testing.T, span time.Duration, perSecond int) (took []time.Duration) {
	t.Helper()
	c := client.New(w.socket)
	defer c.Close()
	var mu sync.Mutex
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for end := time.Now().Add(span); time.Now().Before(end); {
		began := <-tick.C
		wg.Go(func() {
			_, err := client.Post[v1.SubmitResponse](t.Context(), c, "/fed/v1/job", v1.SubmitRequest{Spec: sbatch.Spec{Name: "beside", WorkDir: "/", Hold: true, TimeLimit: time.Minute}, Payload: sbatch.Payload{Script: "#!/bin/sh\n"}})
			mu.Lock()
			defer mu.Unlock()
			if took = append(took, time.Since(began)); err != nil {
				t.Errorf("submit: %v", err)
			}
		})
	}
	wg.Wait()
	return took
}

// ownCPU is the time of processors that this process has used.
func ownCPU(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestHooksBesideSubmissions ends many jobs a second, in turns at a daemon without webhooks and at one with many, one of which answers nobody, and prints what that does to
// submissions. Each endpoint gets each end of its jobs, in order. FSUB_FULL=1: 1,000 endpoints, 1,000 ends a second.
func TestHooksBesideSubmissions(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root, as whom the daemon's users are made")
	}
	n, perSecond, turns, span := 100, 200, 1, 2*time.Second
	if os.Getenv("FSUB_FULL") != "" {
		n, perSecond, turns, span = 1000, 1000, 3, 10*time.Second
	}
	p := newPosts(t)
	each := perSecond * int(span/time.Second)
	ws := []*world{newWorldWith(t, filled(t, turns*each, n, nil)), newWorldWith(t, filled(t, turns*each, n, p))}
	var took [2][]time.Duration
	var cpu, own [2]time.Duration
	ended := 0
	for turn := range turns {
		for k, w := range ws {
			var jobs []federation.JobID
			for i := range each {
				jobs = append(jobs, federation.FirstJobID+federation.JobID(turn*each+i))
			}
			before, ownBefore := w.cpu(), ownCPU(t)
			var wg sync.WaitGroup
			wg.Go(func() { w.end(t, jobs, perSecond) })
			took[k] = append(took[k], w.submitAt(t, span, 200)...)
			wg.Wait()
			cpu[k], own[k] = cpu[k]+w.cpu()-before, own[k]+ownCPU(t)-ownBefore
		}
		ended += each
	}
	for k, what := range []string{"no webhook", fmt.Sprintf("%d webhooks", n)} {
		slices.Sort(took[k])
		whole := span.Seconds() * float64(turns)
		t.Logf("%s: %s; the daemon takes %.0f%% of a processor, what calls it and is posted to %.0f%%", what, times{took: took[k]}, 100*cpu[k].Seconds()/whole, 100*own[k].Seconds()/whole)
	}
	t.Logf("with webhooks to without: p50 %.3f, p99 %.3f", ratio(took[1], took[0], .5), ratio(took[1], took[0], .99))

	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	for got := 0; got < ended; {
		select {
		case <-p.more:
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%d of %d ends were delivered", got, ended)
		}
		got = 0
		for _, of := range p.counts(t) {
			got += of
		}
	}
	t.Logf("all %d ends were delivered %s after the last", ended, time.Since(began).Round(time.Millisecond))
	counts := p.counts(t)
	for i := range n {
		if name := userOf(i); counts[name] != ended/n {
			t.Errorf("%s got %d ends, want %d", name, counts[name], ended/n)
		}
	}
	for _, w := range ws {
		w.alive(t)
	}
}
