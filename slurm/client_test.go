package slurm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// fake is a slurmrestd that answers what a test says. Paths are without version; it speaks one version.
type fake struct {
	*httptest.Server
	version string

	mu      sync.Mutex
	answers map[string]http.HandlerFunc // "GET /slurm/jobs/state/"
	calls   []string
}

func newFake(t *testing.T, version string) *fake {
	f := &fake{version: version, answers: map[string]http.HandlerFunc{}}
	f.on("GET /slurm/ping/", 200, wire.PingResponse{})
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.Replace(r.URL.Path, "/"+f.version, "", 1)
	f.mu.Lock()
	f.calls = append(f.calls, r.Method+" "+r.URL.Path)
	h := f.answers[r.Method+" "+path]
	f.mu.Unlock()
	if h == nil || !strings.Contains(r.URL.Path, f.version+"/") {
		http.Error(w, "Unable find requested URL.", http.StatusNotFound)
		return
	}
	h(w, r)
}

// on answers with a shape, whose meta is filled in.
func (f *fake) on(call string, status int, shape any) {
	b, _ := json.Marshal(shape)
	var m map[string]any
	_ = json.Unmarshal(b, &m)
	m["meta"] = wire.NewMeta("24.11.5", "alpha", "slurm")
	b, _ = json.Marshal(m)
	f.do(call, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write(b)
	})
}

func (f *fake) do(call string, h http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[call] = h
}

// count tells how many calls contained s.
func (f *fake) count(s string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if strings.Contains(c, s) {
			n++
		}
	}
	return n
}

func (f *fake) driver(t *testing.T, change func(*Config)) *Driver {
	t.Helper()
	c := Config{Name: "alpha", Federation: "f", URL: f.URL, KeyFile: keyFile(t, "key"), RPS: 1e6, Burst: 1e6, Timeout: time.Minute, Mode: federation.Pinned}
	if change != nil {
		change(&c)
	}
	d, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func submission() federation.Submission {
	j := &federation.Job{ID: 30_000_007, Spec: &sbatch.Spec{Name: "x", WorkDir: "/tmp"}}
	return federation.Submission{Job: j, Key: federation.AttemptKey("f", j, 1), User: federation.SiteUser{Name: "alice", UID: 7, GID: 8},
		Payload: sbatch.Payload{Script: "#!/bin/sh\n", Environment: []string{"A=b"}}}
}

func failed(number int) wire.Reply {
	return wire.Reply{Errors: wire.List[wire.Error]{{Number: number, Text: wire.Strerror(number)}}}
}

func TestNegotiation(t *testing.T) {
	f := newFake(t, "v0.0.42")
	f.on("GET /slurm/diag/", 200, wire.DiagResponse{})
	d := f.driver(t, nil)
	for range 2 {
		if err := d.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := f.count("/ping/"); n != 4 {
		t.Errorf("%d pings to find v0.0.42 below v0.0.45", n)
	}
	f.mu.Lock()
	f.version = "v0.0.44" // slurmrestd was upgraded and lost the old version
	f.mu.Unlock()
	if err := d.Ping(t.Context()); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("first call after the change: %v", err)
	}
	if err := d.Ping(t.Context()); err != nil {
		t.Errorf("second call after the change: %v", err)
	}
	f.mu.Lock()
	f.version = "v0.0.37"
	f.mu.Unlock()
	_ = d.Ping(t.Context())
	if err := d.Ping(t.Context()); !errors.Is(err, federation.ErrUnavailable) || !strings.Contains(err.Error(), "v0.0.42") {
		t.Errorf("no common version: %v", err)
	}
}

// TestAnswersThatProveNothing: none of these may be read as "the site has no jobs".
func TestAnswersThatProveNothing(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, nil)
	for name, h := range map[string]http.HandlerFunc{
		"gateway page":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>welcome</html>") },
		"empty object":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") },
		"empty jobs":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"jobs":[]}`) },
		"no body":        func(w http.ResponseWriter, _ *http.Request) {},
		"502":            func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502) },
		"500, no reason": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500); fmt.Fprint(w, `{"errors":[]}`) },
		"redirect":       func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"jobs":[`)
		},
	} {
		f.do("GET /slurm/jobs/state/", h)
		if _, err := d.Jobs(t.Context(), nil); !errors.Is(err, federation.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if f.count("/elsewhere") > 0 {
		t.Error("a redirect was followed, with the token")
	}
	f.on("GET /slurm/job/30000007", 200, wire.JobsResponse{})
	f.on("GET /slurmdb/job/30000007", 200, wire.DBJobsResponse{})
	if _, err := d.Lookup(t.Context(), federation.JobRef{ID: 30_000_007}); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("Lookup of an empty list: %v", err)
	}
}

func TestRefusedTokenSaysWhatToDo(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, nil)
	_, token, _ := d.c.tokens.get(time.Now())
	for name, h := range map[string]http.HandlerFunc{
		"401": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "Authentication failure", http.StatusUnauthorized)
		},
		"511 without text": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(511); fmt.Fprint(w, `{"errors":[]}`) },
		"511 and 1007": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(511)
			_ = json.NewEncoder(w).Encode(wire.DiagResponse{Reply: failed(wire.ErrAuth)})
		},
	} {
		f.do("GET /slurm/diag/", h)
		err := d.Ping(t.Context())
		if !errors.Is(err, federation.ErrDenied) || !strings.Contains(err.Error(), d.cfg.KeyFile) || !strings.Contains(err.Error(), "alpha") {
			t.Errorf("%s: %v; want ErrDenied that names site and key file", name, err)
		}
		if strings.Contains(fmt.Sprint(err), token) {
			t.Errorf("%s: the error shows the token", name)
		}
	}
}

func TestOnlyReadsAreTriedAgain(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, nil)
	cut := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	f.do("POST /slurm/job/submit", cut)
	if _, err := d.Submit(t.Context(), submission()); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("Submit: %v", err)
	}
	if n := f.count("/job/submit"); n != 1 {
		t.Errorf("a submission was sent %d times", n)
	}
	f.do("GET /slurm/diag/", cut)
	if err := d.Ping(t.Context()); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("Ping: %v", err)
	}
	if n := f.count("/diag/"); n < 2 {
		t.Errorf("a read was sent %d times", n)
	}
}

// TestTimeouts: a read is given up before a change.
func TestTimeouts(t *testing.T) {
	f := newFake(t, "v0.0.45")
	release := make(chan struct{})
	defer close(release)
	hang := func(http.ResponseWriter, *http.Request) { <-release }
	f.on("GET /slurm/diag/", 200, wire.DiagResponse{})
	d := f.driver(t, func(c *Config) { c.Timeout = 50 * time.Millisecond })
	for deadline := time.Now().Add(time.Minute); d.Ping(t.Context()) != nil && time.Now().Before(deadline); { // until they have agreed on a version
	}
	before := f.count("/diag/")
	f.do("GET /slurm/diag/", hang)
	f.do("DELETE /slurm/jobs/", hang)
	if err := d.Ping(t.Context()); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("a read that hangs: %v", err)
	}
	if err := d.Cancel(t.Context(), federation.JobRef{ID: 30_000_007}, nil); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("a change that hangs: %v", err)
	}
	if n := f.count("/diag/") - before; n > 1 {
		t.Errorf("a read that hung was sent %d times", n)
	}
}

func TestSubmitAnswers(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, nil)
	const post = "POST /slurm/job/submit"
	f.on(post, 500, wire.JobSubmitResponse{JobID: 30_000_007, Reply: failed(wire.ErrNodesBusy)})
	if r, err := d.Submit(t.Context(), submission()); err != nil || r.SiteJobID != 30_000_007 {
		t.Errorf("a job ID beside an error means submitted: %+v, %v", r, err)
	}
	f.on(post, 200, wire.JobSubmitResponse{})
	if _, err := d.Submit(t.Context(), submission()); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("neither job ID nor error: %v", err)
	}
	f.on(post, 200, wire.JobSubmitResponse{JobID: 4711})
	if _, err := d.Submit(t.Context(), submission()); !errors.Is(err, federation.ErrConflict) {
		t.Errorf("another job ID: %v", err)
	}
	f.on(post, 404, wire.JobSubmitResponse{Reply: failed(wire.ErrJobID)})
	if _, err := d.Submit(t.Context(), submission()); !errors.Is(err, federation.ErrDenied) || !strings.Contains(err.Error(), "SlurmUser") {
		t.Errorf("a token that may not choose IDs: %v", err)
	}
	for number, want := range kinds {
		if number == wire.ErrJobID {
			continue
		}
		f.on(post, 500, wire.JobSubmitResponse{Reply: failed(number)})
		_, err := d.Submit(t.Context(), submission())
		var slurm *federation.SlurmError
		if !errors.Is(err, want) || !errors.As(err, &slurm) || slurm.Number != number {
			t.Errorf("%d: %v, want %v with Slurm's number", number, err, want)
		}
	}
	f.on(post, 200, wire.JobSubmitResponse{JobID: 30_000_007, Reply: wire.Reply{Warnings: wire.List[wire.Warning]{{Description: "Ignoring unknown field"}}}})
	if r, err := d.Submit(t.Context(), submission()); err != nil || len(r.Warnings) != 1 {
		t.Errorf("warnings are lost: %+v, %v", r, err)
	}
}

// TestNotFoundNeedsBoth: a job is unknown only if both were asked and slurmdbd has all the news.
func TestNotFoundNeedsBoth(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, nil)
	const id, ctld, dbd, diag = 30_000_007, "GET /slurm/job/30000007", "GET /slurmdb/job/30000007", "GET /slurm/diag/"
	lookup := func() error { _, err := d.Lookup(t.Context(), federation.JobRef{ID: id}); return err }
	f.on(ctld, 404, wire.JobsResponse{Reply: failed(wire.ErrJobID)})
	if err := lookup(); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("a site without slurmdbd: %v", err)
	}
	f.on(dbd, 502, wire.DBJobsResponse{Reply: failed(wire.ErrDBConnect)})
	if err := lookup(); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("slurmdbd does not answer: %v", err)
	}
	f.on(dbd, 200, wire.DBJobsResponse{})
	f.on(diag, 200, wire.DiagResponse{Statistics: wire.Diag{DBDAgentQueueSize: 3}})
	if err := lookup(); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("the controller has news for slurmdbd: %v", err)
	}
	f.on(diag, 200, wire.DiagResponse{})
	if err := lookup(); !errors.Is(err, federation.ErrNotFound) {
		t.Errorf("both have answered: %v", err)
	}
	f.on(ctld, 502, wire.JobsResponse{Reply: failed(wire.ErrUnreachable)})
	if err := lookup(); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("the controller does not answer: %v", err)
	}
	f.on(dbd, 200, wire.DBJobsResponse{Jobs: wire.List[wire.DBJob]{{JobID: id, State: wire.DBState{Current: wire.Strings{"COMPLETED"}}}}})
	if err := lookup(); err != nil {
		t.Errorf("the controller does not answer, and slurmdbd saw the job complete: %v", err)
	}
	f.on(dbd, 200, wire.DBJobsResponse{Jobs: wire.List[wire.DBJob]{{JobID: id, State: wire.DBState{Current: wire.Strings{"NODE_FAIL"}}}}})
	if err := lookup(); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("the controller does not answer, and may have requeued the job: %v", err)
	}
}

// TestBudget: what else is asked leaves room for submissions, and both leave room for a look at the site's jobs.
func TestBudget(t *testing.T) {
	f := newFake(t, "v0.0.45")
	f.on("GET /slurm/diag/", 200, wire.DiagResponse{})
	f.on("GET /slurm/jobs/state/", 200, wire.JobsStateResponse{})
	d := f.driver(t, func(c *Config) { c.RPS, c.Burst = 0.001, 8 })
	for range 3 { // and one call to find the version
		if err := d.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := d.Ping(ctx); !errors.Is(err, federation.ErrThrottled) || !strings.Contains(err.Error(), "budget") {
		t.Errorf("beyond the budget: %v", err)
	}
	f.on("POST /slurm/job/submit", 200, wire.JobSubmitResponse{JobID: 30_000_007})
	for range 2 {
		if _, err := d.Submit(ctx, submission()); err != nil {
			t.Errorf("a submission beyond what else may be asked: %v", err)
		}
	}
	if _, err := d.Submit(ctx, submission()); !errors.Is(err, federation.ErrThrottled) {
		t.Errorf("beyond the budget: %v", err)
	}
	for range 2 {
		if _, err := d.Jobs(ctx, nil); err != nil {
			t.Errorf("a look beyond what others may ask: %v", err)
		}
	}
	if _, err := d.Jobs(ctx, nil); !errors.Is(err, federation.ErrThrottled) {
		t.Errorf("looks beyond all that may be asked: %v", err)
	}
}

// TestKillRefusals: a DELETE is 200 even when it is refused.
func TestKillRefusals(t *testing.T) {
	f := newFake(t, "v0.0.42")
	d := f.driver(t, nil)
	for code, c := range map[int]struct{ cancel, signal error }{
		0:                   {nil, nil},
		wire.ErrJobID:       {nil, federation.ErrNotFound},
		wire.ErrAlreadyDone: {nil, federation.ErrConflict},
		wire.ErrAccess:      {federation.ErrDenied, federation.ErrDenied},
		wire.ErrUnreachable: {federation.ErrUnavailable, federation.ErrUnavailable},
	} {
		f.on("DELETE /slurm/jobs/", 200, wire.KillJobsResponse{Status: wire.List[wire.KillStatus]{{StepID: "30000007", Error: wire.KillError{Code: code}}}})
		if err := d.Cancel(t.Context(), federation.JobRef{ID: 30_000_007}, nil); !errors.Is(err, c.cancel) {
			t.Errorf("Cancel, %d: %v", code, err)
		}
		if err := d.Signal(t.Context(), federation.JobRef{ID: 30_000_007}, nil, federation.Signal{Name: "USR1"}); !errors.Is(err, c.signal) {
			t.Errorf("Signal, %d: %v", code, err)
		}
	}
}
