package simsite

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"fsub/federation"
	"fsub/slurm"
	"fsub/testbed/drivertest"
)

// TestConformance: a simulated site of either version passes the suite that real Slurm passes, through the real driver
// of Slurm.
func TestConformance(t *testing.T) {
	for _, version := range []string{"24.11.5", "26.05.5"} {
		t.Run("rest "+version, func(t *testing.T) {
			s := conformanceSite(t, version)
			drivertest.Run(t, harness(s, siteTime{restDriver(t, s), s}, badDriver(t, s)))
		})
	}
	// Under numbers of the site's own, with a token of SlurmUser and with one that acts for alice only.
	for name, change := range map[string]func(*slurm.Config){
		"mapped": func(c *slurm.Config) { c.Mode = federation.Mapped }, "alice": func(c *slurm.Config) { c.User = "alice" },
	} {
		t.Run(name, func(t *testing.T) {
			s := conformanceSite(t, "24.11.5")
			settled := func(c *slurm.Config) { change(c); c.Settle = time.Nanosecond } // its time is not the site's
			drivertest.Run(t, harness(s, siteTime{restDriverWith(t, s, settled), s}, badDriver(t, s)))
		})
	}
}

func conformanceSite(t *testing.T, version string) *Site {
	return newSite(t, func(c *Config) {
		c.JWTKey, c.TokenClock, c.Version, c.MinJobAge = jwtKey, RealClock{}, version, 30*time.Second
		c.Clock = NewVirtualClock(time.Now()) // near enough for tokens
	})
}

// harness drives virtual time: Wait moves the site's clock on and comes back at once.
func harness(s *Site, d, stranger federation.Driver) drivertest.Harness {
	next := federation.FirstJobID
	return drivertest.Harness{
		Driver: d, Stranger: stranger, Federation: "f", NextID: func() federation.JobID { next++; return next },
		User: federation.SiteUser{Name: "alice", UID: 7001, GID: 7001}, Other: federation.SiteUser{Name: "bob", UID: 7002, GID: 7002},
		Account: "proj1", OtherAccount: "proj2", Partition: "main", GPUType: "h100", Nodes: 4,
		Now: s.Now, Wait: s.Advance, ForgetsAfter: 40 * time.Second,
		LoseReply:       func() { s.Inject(Fault{Kind: LoseReply, Ops: []Op{OpSubmit, OpKill, OpUpdate}, Times: 1}) },
		KillController:  func() { s.KillController(CrashOptions{}) },
		StartController: s.StartController,
	}
}

// siteTime puts the site's virtual time into the one stamp that the suite compares: the driver takes it from the machine.
type siteTime struct {
	*slurm.Driver
	s *Site
}

func (d siteTime) Jobs(ctx context.Context, m federation.Mark) (federation.JobsReport, error) {
	at := d.s.Now()
	r, err := d.Driver.Jobs(ctx, m)
	r.At = at
	return r, err
}

// badDriver has a key that the site does not know.
func badDriver(t *testing.T, s *Site) federation.Driver {
	key := filepath.Join(t.TempDir(), "bad.key")
	if err := os.WriteFile(key, []byte("some other key, as long as the first"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := slurm.Open(slurm.Config{Name: "alpha", Federation: "f", URL: "http://alpha", KeyFile: key, RPS: 1e6, Burst: 1e6, Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestServe: the same site behind a unix socket, in real time.
func TestServe(t *testing.T) {
	s := newSite(t, func(c *Config) { c.Clock = RealClock{} })
	path := filepath.Join(t.TempDir(), "sock")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	d, err := slurm.Open(slurm.Config{Name: "alpha", Federation: "f", URL: "unix:" + path})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := d.Submit(ctx, submission(federation.FirstJobID)); err != nil || r.Adopted {
		t.Errorf("submit: %+v %v", r, err)
	}
	s.Inject(Fault{Kind: LoseReply, Ops: []Op{OpSubmit}, Times: 1})
	if _, err := d.Submit(ctx, submission(federation.FirstJobID+1)); err == nil {
		t.Error("the reply was not lost")
	}
	if j, err := d.Lookup(ctx, federation.JobRef{ID: federation.FirstJobID + 1}); err != nil || j.State != federation.Running {
		t.Errorf("lookup: %+v %v", j, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
