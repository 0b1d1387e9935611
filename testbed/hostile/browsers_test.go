package hostile

import (
	"context"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fsub/federation/api/client"
	v1 "fsub/federation/api/v1"
	"fsub/sbatch"
)

// polls are what open pages ask for: most people look at their jobs.
var polls = []string{"/jobs.live?user=", "/jobs.live", "/jobs.live?user=&state=running", "/jobs.live", "/now.live", "/jobs.live?user=", "/operate.live", "/jobs.live", "/jobs.live?user=&state=pending", "/team.live"}

// browsers is how many pages are open, each of which asks again every ten seconds.
const (
	browsers  = 200
	pollEvery = 10 * time.Second
)

// TestBrowsersPoll has 200 pages open while jobs are submitted as fast as they are taken, in turns with none open, and prints what that does to submissions. What pages ask never
// reaches a site. FSUB_FULL=1 takes ten minutes.
func TestBrowsersPoll(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: not root, as the test of what users take up")
	}
	turns, span := 2, 2*time.Second
	if os.Getenv("FSUB_FULL") != "" {
		turns, span = 20, 15*time.Second
	}
	if text := os.Getenv("FSUB_BROWSERS"); text != "" { // how long each turn takes
		var err error
		if span, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t)
	a := &attacker{socket: w.socket, http: overSocket(w.socket)}
	var signedIn []*atBrowser
	for range 10 {
		b, c := a.ticket(t.Context()), newBrowser()
		if ok, status := signsIn(t.Context(), c, b.Address, b.Ticket); !ok {
			t.Fatalf("sign in: %d", status)
		}
		signedIn = append(signedIn, &atBrowser{at: b.Address, http: c})
	}

	calls := func(what string, during func()) float64 { // a second
		n, began := w.site.Stats().Requests, time.Now()
		during()
		rate := float64(w.site.Stats().Requests-n) / time.Since(began).Seconds()
		t.Logf("%s: %.1f calls a second to the site", what, rate)
		return rate
	}
	none := calls("no page open", func() { time.Sleep(2 * time.Second) })
	var took time.Duration
	some := calls("pages asked 300 times", func() {
		began := time.Now()
		for i := range 300 {
			b := signedIn[i%len(signedIn)]
			_ = a.visit(t.Context(), b, "GET", polls[i%len(polls)], nil, nil, 0)
		}
		took = time.Since(began)
	})
	if each := (some - none) * took.Seconds() / 300; each > 0.1 { // a look of the daemon's own may fall into either
		t.Errorf("a page has the site called %.2f times", each)
	}

	sum := [2]times{}
	var spent [2]time.Duration
	var failed atomic.Int64
	for range turns {
		for open := range 2 {
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			if open == 1 {
				poll(ctx, &wg, signedIn, &failed)
			}
			began := time.Now()
			s := w.submitFor(t, span)
			spent[open] += time.Since(began)
			sum[open].took = append(sum[open].took, s...)
			cancel()
			wg.Wait()
		}
	}
	for open := range 2 {
		slices.Sort(sum[open].took)
	}
	rate := func(i int) float64 { return float64(len(sum[i].took)) / spent[i].Seconds() }
	t.Logf("no page open: %.0f submissions a second; %s", rate(0), sum[0])
	t.Logf("%d pages open: %.0f submissions a second; %s", browsers, rate(1), sum[1])
	t.Logf("with pages to without: rate %.3f, p99 %.3f", rate(1)/rate(0), ratio(sum[1].took, sum[0].took, 0.99))
	if n := failed.Load(); n > 0 {
		t.Errorf("%d polls failed", n)
	}
	w.alive(t)
}

// poll opens the pages, each at a moment of its own, until ctx is done. A page that has what it had is a 304.
func poll(ctx context.Context, wg *sync.WaitGroup, signedIn []*atBrowser, failed *atomic.Int64) {
	for i := range browsers {
		b, path := signedIn[i%len(signedIn)], polls[i%len(polls)]
		wg.Go(func() {
			tag := ""
			wait := pollEvery * time.Duration(i) / browsers
			for {
				select {
				case <-ctx.Done():
					return
				case <-time.After(wait):
				}
				wait = pollEvery
				r, err := http.NewRequestWithContext(ctx, "GET", b.at+path, nil)
				if err != nil {
					return
				}
				if tag != "" {
					r.Header.Set("If-None-Match", tag)
				}
				resp, err := b.http.Do(r)
				if err != nil {
					if ctx.Err() == nil {
						failed.Add(1)
					}
					continue
				}
				resp.Body.Close()
				if tag = resp.Header.Get("ETag"); resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
					failed.Add(1)
				}
			}
		})
	}
}

// submitFor submits jobs from four callers, as fast as they are taken, and returns how long each took.
func (w *world) submitFor(t *testing.T, span time.Duration) (took []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(span)
	for range 4 {
		wg.Go(func() {
			c := client.New(w.socket)
			defer c.Close()
			var own []time.Duration
			for time.Now().Before(end) {
				began := time.Now()
				_, err := client.Post[v1.SubmitResponse](t.Context(), c, "/fed/v1/job", v1.SubmitRequest{Spec: sbatch.Spec{Name: "browsers", WorkDir: "/", TimeLimit: time.Minute}, Payload: sbatch.Payload{Script: "#!/bin/sh\n#SIM run=1s\n"}})
				if err != nil {
					t.Errorf("submit: %v", err)
					return
				}
				own = append(own, time.Since(began))
			}
			mu.Lock()
			took = append(took, own...)
			mu.Unlock()
		})
	}
	wg.Wait()
	return took
}

func ratio(a, b []time.Duration, q float64) float64 {
	at := func(s []time.Duration) float64 { return float64(s[min(int(q*float64(len(s))), len(s)-1)]) }
	return at(a) / at(b)
}
