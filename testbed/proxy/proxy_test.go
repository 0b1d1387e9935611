package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestFaults(t *testing.T) {
	var acted atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		acted.Add(1)
		_, _ = io.WriteString(w, "done")
	}))
	defer site.Close()
	p, err := New(site.URL, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	call := func(ctx context.Context, method string) (int, error) {
		r, err := http.NewRequestWithContext(ctx, method, p.URL()+"/job/submit", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		a, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		defer a.Body.Close()
		if _, err := io.ReadAll(a.Body); err != nil {
			return 0, err
		}
		return a.StatusCode, nil
	}
	for _, c := range []struct {
		fault  Fault
		status int
		acted  int32
	}{{Pass, 200, 1}, {LoseReply, 0, 1}, {LoseRequest, 0, 0}, {CutReply, 0, 1}, {Swallow, 0, 1}, {BadGateway, 502, 0}, {Hang, 0, 0}} {
		acted.Store(0)
		p.Next(c.fault)
		if status, err := call(t.Context(), "GET"); status != 200 { // reads are not touched
			t.Fatalf("fault %d: a read got %d, %v", c.fault, status, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if c.fault == Hang || c.fault == Swallow { // the caller gives up when it has met the fault
			go func() {
				for n, _ := p.Count(c.fault); (n == 0 || acted.Load() < c.acted+1) && ctx.Err() == nil; n, _ = p.Count(c.fault) {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
		}
		status, err := call(ctx, "POST")
		cancel()
		if status != c.status || acted.Load() != c.acted+1 {
			t.Errorf("fault %d: status %d (%v), the site acted %d times, want %d, %d", c.fault, status, err, acted.Load()-1, c.status, c.acted)
		}
		if n, submissions := p.Count(c.fault); c.fault != Pass && n != 1 || submissions != 1 {
			t.Errorf("fault %d was counted %d times, %d times for a submission", c.fault, n, submissions)
		}
	}
}

// Of all requests only submissions meet what was said of them, and only so many.
func TestNextSubmission(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer site.Close()
	p, err := New(site.URL, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.NextSubmission(LoseReply)
	for _, c := range []struct {
		path string
		lost bool
	}{{"/job/7", false}, {"/job/submit", true}, {"/job/7", false}, {"/job/submit", false}} {
		r, err := http.Post(p.URL()+c.path, "", nil)
		if (err != nil) != c.lost {
			t.Errorf("%s: %v, want it lost: %v", c.path, err, c.lost)
		}
		if err == nil {
			r.Body.Close()
		}
	}
	if n, submissions := p.Count(LoseReply); n != 1 || submissions != 1 {
		t.Errorf("%d replies were lost, %d of them receipts", n, submissions)
	}
}

func TestRateFollowsTheSeed(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer site.Close()
	var runs [2]string
	for i := range runs {
		p, err := New(site.URL, 7)
		if err != nil {
			t.Fatal(err)
		}
		p.Rate(map[Fault]float64{BadGateway: 0.5}, false)
		for range 20 {
			r, err := http.Post(p.URL(), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			runs[i] += r.Status[:1]
			r.Body.Close()
		}
		p.Close()
	}
	if runs[0] != runs[1] || !strings.Contains(runs[0], "2") || !strings.Contains(runs[0], "5") {
		t.Errorf("%s, then %s", runs[0], runs[1])
	}
}
