package cloud_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/federation"
)

// TestStuck: an agent that lives and does not end what it was told to end does not hold its machine, nor the job, forever. The job is not over before the machine is.
func TestStuck(t *testing.T) {
	byHand(t, func(w *world) {
		id := w.submit("sleep 1000", nil)
		m := w.let()[0]
		o := w.poll(m, agentapi.Poll{})
		run := o.Runs[0].Run
		w.report(m, agentapi.Status{Run: run, State: agentapi.RunRunning})
		if err := w.driver.Cancel(context.Background(), federation.JobRef{ID: id}, nil); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(15 * time.Minute); len(w.cloud.Living()) > 0 && time.Now().Before(end); {
			if s := w.lookup(id).State; s != federation.Completing {
				t.Fatalf("the job is %s while its script may live", s)
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			o, _ = w.driver.Agents().Poll(ctx, m, agentapi.Poll{Version: o.Version, Known: []string{run}})
			cancel()
		}
		if n := len(w.cloud.Living()); n != 0 {
			t.Fatalf("%d machines live", n)
		}
		w.wants(id, federation.Cancelled, time.Minute)
	})
}

// TestLostWhileStopped: what a job was stopped for holds also if its machine is lost before its agent has said so.
func TestLostWhileStopped(t *testing.T) {
	for name, c := range map[string]struct {
		stop func(w *world, ref federation.JobRef) error
		want federation.State
	}{
		"cancelled": {func(w *world, ref federation.JobRef) error { return w.driver.Cancel(context.Background(), ref, nil) }, federation.Cancelled},
		"requeued":  {func(w *world, ref federation.JobRef) error { return w.driver.Requeue(context.Background(), ref, nil) }, federation.Pending},
		"requeued and cancelled": {func(w *world, ref federation.JobRef) error {
			if err := w.driver.Requeue(context.Background(), ref, nil); err != nil {
				return err
			}
			return w.driver.Cancel(context.Background(), ref, nil)
		}, federation.Cancelled},
	} {
		t.Run(name, func(t *testing.T) {
			byHand(t, func(w *world) {
				id := w.submit("sleep 1000", nil)
				m := w.let()[0]
				o := w.poll(m, agentapi.Poll{})
				w.report(m, agentapi.Status{Run: o.Runs[0].Run, State: agentapi.RunRunning})
				if err := c.stop(w, federation.JobRef{ID: id}); err != nil {
					t.Fatal(err)
				}
				w.cloud.Kill(w.cloud.Living()[0].ID, "gone")
				w.wants(id, c.want, 5*time.Minute)
			})
		})
	}
}

// forgetting is a cloud whose listings lack everything while it wants.
type forgetting struct {
	*cloudtest.Provider
	now atomic.Bool
}

func (f *forgetting) List(ctx context.Context) ([]provider.Instance, error) {
	list, err := f.Provider.List(ctx)
	if f.now.Load() {
		list = nil
	}
	return list, err
}

// TestListingLacks: a machine whose agent speaks is not taken for gone because a listing lacks it. One that is silent too is.
func TestListingLacks(t *testing.T) {
	bubble(t, func(w *world) {
		f := &forgetting{Provider: w.cloud}
		w.cfg.Provider = f
		w.ready()
		id := w.submit("sleep 3000", nil)
		w.wants(id, federation.Running, 5*time.Minute)
		f.now.Store(true)
		time.Sleep(10 * time.Minute)
		if s := w.lookup(id); s.State != federation.Running {
			t.Fatalf("it is %s: %s", s.State, s.Detail)
		}
		w.cloud.Kill(w.cloud.Living()[0].ID, "gone")
		w.wants(id, federation.NodeFail, 5*time.Minute)
		f.now.Store(false)
	})
}

// TestOwnerWhileLoading: commands of jobs are not told that they are denied while the driver does not know its machines yet.
func TestOwnerWhileLoading(t *testing.T) {
	bubble(t, func(w *world) {
		d, err := cloud.New(w.cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Agents().Owner(context.Background(), "sky:1.0", "run"); errors.Is(err, federation.ErrDenied) || err == nil {
			t.Errorf("%v", err)
		}
	})
}

// TestLogWithoutRoom: output stops before it has filled the daemon's disk, and in a way that the agent does not wait for.
func TestLogWithoutRoom(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.NoBoot = func(*provider.Request, string) bool { return true }
		w.cfg.LogDir, w.cfg.LogReserve = t.TempDir(), math.MaxUint64
		w.ready()
		w.submit("echo hello", nil)
		m := w.let()[0]
		run := w.poll(m, agentapi.Poll{}).Runs[0].Run
		if _, err := w.driver.Agents().Log(context.Background(), m, run, "out", 0, strings.NewReader("hello")); !errors.Is(err, federation.ErrDenied) {
			t.Errorf("%v", err)
		}
	})
}

// TestOwner: commands inside a job come back as the user of the federation that it is of, not as whoever has the name that this user has at the site.
func TestOwner(t *testing.T) {
	byHand(t, func(w *world) {
		w.submit("squeue", func(s *federation.Submission) { s.User = federation.SiteUser{Name: "bob", UID: 2002, GID: 2002} })
		m := w.let()[0]
		run := w.poll(m, agentapi.Poll{}).Runs[0]
		if name := run.Launch.User.Name; name != "bob" {
			t.Errorf("the job runs as %s", name)
		}
		if name, err := w.driver.Agents().Owner(context.Background(), m, run.Run); name != "alice" || err != nil {
			t.Errorf("its commands are %s's, %v", name, err)
		}
	})
}

// TestShorterLease: a daemon that comes back with a shorter lease waits as long as what the machines were told by the one before.
func TestShorterLease(t *testing.T) {
	byHand(t, func(w *world) {
		id := w.submit("sleep 1000", nil)
		m := w.let()[0]
		run := w.poll(m, agentapi.Poll{}).Runs[0].Run
		w.report(m, agentapi.Status{Run: run, State: agentapi.RunRunning})
		w.stop()
		w.cfg.Timing.Lease, w.cfg.Timing.KillWait, w.cfg.Timing.Margin = 10*time.Second, 5*time.Second, 5*time.Second
		w.ready()
		time.Sleep(2 * time.Minute) // 90 and 30 seconds
		if s := w.lookup(id); s.State != federation.Running {
			t.Errorf("its script may live, and it is %s: %s", s.State, s.Detail)
		}
		w.wants(id, federation.NodeFail, time.Minute)
	})
}
