package simsite

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm"
)

var jwtKey = []byte("0123456789abcdef0123456789abcdef")

func withKey(c *Config) { c.JWTKey = jwtKey; c.Clock = RealClock{} }

// restDriver is the real driver of Slurm on the site's slurmrestd.
func restDriver(t testing.TB, s *Site) *slurm.Driver {
	t.Helper()
	return restDriverWith(t, s, func(c *slurm.Config) { c.Mode = federation.Pinned })
}

// restDriverWith is restDriver with another configuration.
func restDriverWith(t testing.TB, s *Site, change func(*slurm.Config)) *slurm.Driver {
	t.Helper()
	key := filepath.Join(t.TempDir(), "jwt.key")
	if err := os.WriteFile(key, jwtKey, 0o600); err != nil {
		t.Fatal(err)
	}
	c := slurm.Config{Name: federation.SiteName(s.Name()), Federation: "f", URL: "http://" + s.Name(), KeyFile: key, RPS: 1e6,
		Burst: 1e6, Tree: s.Tree(), DefaultPartition: "main", Transport: s.Transport()}
	change(&c)
	d, err := slurm.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// submission is a job of alice's under its first attempt.
func submission(id federation.JobID, change ...func(*federation.Submission)) federation.Submission {
	j := &federation.Job{ID: id, User: "alice", UID: 7001, GID: 7001, Submit: time.Unix(1e9, 0).UTC(),
		Spec: &sbatch.Spec{Name: "n", WorkDir: "/home/alice", TimeLimit: 10 * time.Minute, Comment: "mine"}}
	s := federation.Submission{Job: j, Payload: sbatch.Payload{Script: "#!/bin/sh\n#SIM run=1h\n", Environment: []string{"A=b"}},
		Partition: "main", User: federation.SiteUser{Name: "alice", UID: 7001, GID: 7001}}
	for _, f := range change {
		f(&s)
	}
	if s.Key == "" {
		s.Key = federation.AttemptKey("f", j, 1)
	}
	return s
}

func spec(f func(*sbatch.Spec)) func(*federation.Submission) {
	return func(s *federation.Submission) { f(s.Job.Spec) }
}

func script(text string) func(*federation.Submission) {
	return func(s *federation.Submission) { s.Payload.Script = "#!/bin/sh\n" + text + "\n" }
}

func TestFaultsThroughDriver(t *testing.T) {
	const id = federation.FirstJobID
	for _, c := range []struct {
		fault Fault
		want  error
		runs  int // before it is asked again
	}{
		{Fault{Kind: Refuse}, federation.ErrUnavailable, 0},
		{Fault{Kind: Drop}, federation.ErrUnavailable, 0},
		{Fault{Kind: LoseReply}, federation.ErrUnavailable, 1},
		{Fault{Kind: Hang}, federation.ErrUnavailable, 0},
		{Fault{Kind: HangAfter}, federation.ErrUnavailable, 1},
		{Fault{Kind: Fail500}, federation.ErrUnavailable, 0},
		{Fault{Kind: Gateway504}, federation.ErrUnavailable, 1},
		{Fault{Kind: Empty}, federation.ErrUnavailable, 0},
		{Fault{Kind: Truncate}, federation.ErrUnavailable, 1},
		{Fault{Kind: Garbage}, federation.ErrUnavailable, 1},
		{Fault{Kind: NoReach}, federation.ErrUnavailable, 0},
		{Fault{Kind: Slow, Delay: time.Millisecond}, nil, 1},
	} {
		t.Run(string(c.fault.Kind), func(t *testing.T) {
			s := newSite(t, withKey)
			d := restDriver(t, s)
			c.fault.Ops = []Op{OpSubmit}
			remove := s.Inject(c.fault)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if c.fault.Kind == Hang || c.fault.Kind == HangAfter {
				go giveUpWhenStruck(s, cancel)
			}
			if _, err := d.Submit(ctx, submission(id)); !errors.Is(err, c.want) {
				t.Errorf("submit: %v, want %v", err, c.want)
			}
			if n := s.RunCount(uint32(id)); n != c.runs {
				t.Errorf("%d runs, want %d", n, c.runs)
			}
			remove()
			r, err := d.Submit(context.Background(), submission(id))
			if err != nil || r.Adopted != (c.runs == 1) {
				t.Errorf("second submission: %+v %v", r, err)
			}
			if n := s.RunCount(uint32(id)); n != 1 {
				t.Errorf("%d runs in the end", n)
			}
		})
	}
}

// giveUpWhenStruck is the caller's patience, which ends once a fault has struck.
func giveUpWhenStruck(s *Site, cancel func()) {
	for s.Stats().Faults == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
}

func TestEmptyListsProveNothing(t *testing.T) {
	s := newSite(t, withKey)
	d := restDriver(t, s)
	ctx := context.Background()
	if _, err := d.Submit(ctx, submission(federation.FirstJobID)); err != nil {
		t.Fatal(err)
	}
	s.Inject(Fault{Kind: Empty, Ops: []Op{OpNodes, OpJob}})
	if o, err := d.Observe(ctx); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("observe: %+v %v", o, err)
	}
	if j, err := d.Lookup(ctx, federation.JobRef{ID: federation.FirstJobID + 1}); !errors.Is(err, federation.ErrUnavailable) {
		t.Errorf("lookup: %+v %v", j, err)
	}
	s.ClearFaults()
	s.Inject(Fault{Kind: Empty, Ops: []Op{OpState}, Times: 1})
	if r, err := d.Jobs(ctx, nil); err != nil || len(r.Known) != 0 {
		t.Errorf("an empty list cannot be told from a controller without jobs: %+v %v", r, err)
	}
	if r, err := d.Jobs(ctx, nil); err != nil || len(r.Known) != 1 || len(r.Changed) != 1 {
		t.Errorf("afterwards: %+v %v", r, err)
	}
}

func TestMarks(t *testing.T) {
	s := newSite(t, withKey)
	d := restDriver(t, s)
	ctx := context.Background()
	for i := range federation.JobID(3) {
		if _, err := d.Submit(ctx, submission(federation.FirstJobID+i)); err != nil {
			t.Fatal(err)
		}
	}
	r1, err := d.Jobs(ctx, nil)
	if err != nil || len(r1.Changed) != 3 {
		t.Fatalf("%+v %v", r1, err)
	}
	if err := d.Cancel(ctx, federation.JobRef{ID: federation.FirstJobID + 1}, nil); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a mark may be used again
		r2, err := d.Jobs(ctx, r1.Mark)
		if err != nil || len(r2.Changed) != 1 || r2.Changed[0].State != federation.Cancelled || len(r2.Known) != 3 {
			t.Errorf("%+v %v", r2, err)
		}
		if r3, err := d.Jobs(ctx, r2.Mark); err != nil || len(r3.Changed) != 0 || len(r3.Known) != 3 {
			t.Errorf("%+v %v", r3, err)
		}
	}
}

func TestAdoption(t *testing.T) {
	s := newSite(t, withKey)
	d := restDriver(t, s)
	ctx := context.Background()
	for i := range 2 {
		r, err := d.Submit(ctx, submission(federation.FirstJobID))
		if err != nil || r.Adopted != (i == 1) {
			t.Errorf("%+v %v", r, err)
		}
	}
	other := submission(federation.FirstJobID, func(s *federation.Submission) { s.Key = "fsub:other:30000000.1.a" })
	if _, err := d.Submit(ctx, other); !errors.Is(err, federation.ErrConflict) {
		t.Errorf("another federation's key: %v", err)
	}
	big := submission(federation.FirstJobID+1, spec(func(p *sbatch.Spec) { p.MinNodes, p.MaxNodes = 9, 9 }))
	for range 2 {
		if _, err := d.Submit(ctx, big); !errors.Is(err, federation.ErrCapacity) {
			t.Errorf("9 nodes: %v", err)
		}
	}
	bad := submission(federation.FirstJobID+2, spec(func(p *sbatch.Spec) { p.Account = "proj2" }))
	if _, err := d.Submit(ctx, bad); !errors.Is(err, federation.ErrDenied) {
		t.Errorf("account: %v", err)
	}
}

func TestTokens(t *testing.T) {
	s := newSite(t, withKey)
	call := func(method, path, user, token string) int {
		r, _ := http.NewRequest(method, "http://x"+path, nil)
		if user != "" {
			r.Header.Set("X-SLURM-USER-NAME", user)
		}
		if token != "" {
			r.Header.Set("X-SLURM-USER-TOKEN", token)
		}
		resp, err := s.Transport().RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode
	}
	admin, alice := s.Token("slurm", time.Hour), s.Token("alice", time.Hour)
	for _, c := range []struct {
		path, user, token string
		want              int
	}{
		{"/slurm/v0.0.42/diag/", "", "", 401},
		{"/slurm/v0.0.42/diag/", "slurm", admin, 200},
		{"/slurm/v0.0.42/diag", "", admin, 200},
		{"/slurm/v0.0.42/diag/", "alice", admin, 200},
		{"/slurm/v0.0.42/diag/", "nobody", admin, 511},
		{"/slurm/v0.0.42/diag/", "bob", alice, 511},
		{"/slurm/v0.0.42/diag/", "alice", alice + "x", 511},
		{"/slurm/v0.0.42/diag/", "alice", s.Token("alice", -time.Second), 511},
		{"/slurm/v0.0.42/ping/", "alice", "rubbish", 200},
		{"/slurm/v0.0.42/partitions/", "alice", "rubbish", 511},
		{"/slurmdb/v0.0.42/jobs/", "alice", "rubbish", 502},
		{"/slurm/v0.0.45/ping/", "slurm", admin, 404},
		{"/slurm/v0.0.42/job/30000001", "slurm", admin, 404},
		{"/slurm/v0.0.42/job/67108863", "slurm", admin, 404},
	} {
		if got := call("GET", c.path, c.user, c.token); got != c.want {
			t.Errorf("GET %s as %q: %d, want %d", c.path, c.user, got, c.want)
		}
	}
}
