package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/cloud"
	"fsub/cloud/agentapi"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/reasons"
)

// byHand is a world whose machines say nothing by themselves: the test speaks for them.
func byHand(t *testing.T, f func(w *world)) {
	bubble(t, func(w *world) {
		w.cloud.NoBoot = func(*provider.Request, string) bool { return true }
		w.cfg.LogDir = t.TempDir()
		w.ready()
		f(w)
	})
}

// gangOf is the token of a machine's gang.
func gangOf(m provider.Instance) string { return m.Token }

func hello(m provider.Instance, nonce string) agentapi.Hello {
	return agentapi.Hello{Instance: string(m.ID), Nonce: nonce, Steps: m.Addr + ":7000", CPUs: 4, MemMiB: 16000, Suspends: true, GPUs: make([]agentapi.GPU, 1)}
}

// TestHello: a machine is let in once, within its time, and only if it is of the gang.
func TestHello(t *testing.T) {
	byHand(t, func(w *world) {
		ctx := context.Background()
		w.submit("sleep 1", nodes(2))
		w.until("the machines are made", time.Minute, func() bool { return len(w.cloud.Living()) == 2 })
		time.Sleep(time.Second)
		one, two := w.cloud.Machines()[0], w.cloud.Machines()[1]
		denied := func(what, gang string, h agentapi.Hello) {
			t.Helper()
			if _, err := w.driver.Agents().Hello(ctx, gang, h); !errors.Is(err, federation.ErrDenied) {
				t.Errorf("%s: %v", what, err)
			}
		}
		denied("no such gang", "sky-9-0000", hello(one, "a"))
		other := hello(one, "a")
		other.Instance = "i-9999"
		denied("not of the gang", gangOf(one), other)
		let, err := w.driver.Agents().Hello(ctx, gangOf(one), hello(one, "a"))
		if err != nil || let.Node != "sky-main-1" || !strings.HasPrefix(string(let.Machine), "sky:") || let.Welcome.Lease == 0 {
			t.Fatalf("%+v, %v", let, err)
		}
		if again, err := w.driver.Agents().Hello(ctx, gangOf(one), hello(one, "a")); err != nil || again != let {
			t.Errorf("the same hello again: %+v, %v", again, err)
		}
		denied("a second one with the same token", gangOf(one), hello(one, "b"))
		time.Sleep(20 * time.Minute)
		denied("too late", gangOf(two), hello(two, "c"))
		if _, err := w.driver.Agents().Poll(ctx, "sky:77.0", agentapi.Poll{}); !errors.Is(err, federation.ErrDenied) {
			t.Errorf("poll of a machine that is none: %v", err)
		}
	})
}

// TestTokenIsSpent: a job can read its machine's user data. It does not start before the token in it is good for nothing, though its own machine is up: a gang's
// other machines may have lost the job that they were rented for, and boot still.
func TestTokenIsSpent(t *testing.T) {
	for name, lost := range map[string]bool{"all register": false, "one is lost": true} {
		t.Run(name, func(t *testing.T) {
			byHand(t, func(w *world) {
				ctx := context.Background()
				first := w.submit("sleep 1", nodes(2))
				w.until("the machines are made", time.Minute, func() bool { return len(w.cloud.Living()) == 2 })
				time.Sleep(time.Second)
				one, two := w.cloud.Machines()[0], w.cloud.Machines()[1]
				let, err := w.driver.Agents().Hello(ctx, gangOf(one), hello(one, "a"))
				if err != nil {
					t.Fatal(err)
				}
				if err := w.driver.Cancel(ctx, federation.JobRef{ID: first}, nil); err != nil {
					t.Fatal(err)
				}
				second := w.submit("sleep 1", nil)
				time.Sleep(10 * time.Second)
				starts := func() bool {
					return slices.ContainsFunc(w.poll(let.Machine, agentapi.Poll{}).Runs, func(o agentapi.Order) bool { return !o.Ended && strings.HasPrefix(o.Run, second.String()+"-") })
				}
				if starts() {
					t.Errorf("a job starts while the token may register %s", two.ID)
				}
				if lost {
					w.cloud.Kill(two.ID, "Server.SpotInstanceTermination")
				} else if _, err := w.driver.Agents().Hello(ctx, gangOf(two), hello(two, "b")); err != nil {
					t.Fatal(err)
				}
				w.until("the job starts", 5*time.Minute, starts)
				forged := hello(two, "c")
				if _, err := w.driver.Agents().Hello(ctx, gangOf(two), forged); !errors.Is(err, federation.ErrDenied) {
					t.Errorf("the token registers %s: %v", two.ID, err)
				}
			})
		})
	}
}

// TestNotRecordedYet: a machine that is faster than the cloud's answer is told to ask again.
func TestNotRecordedYet(t *testing.T) {
	bubble(t, func(w *world) {
		early := make(chan error, 1)
		w.cloud.NoBoot = func(*provider.Request, string) bool { return true }
		w.cloud.After = func(op string, r *provider.Request) error {
			if op == "Create" {
				_, err := w.driver.Agents().Hello(context.Background(), r.Token, agentapi.Hello{Instance: "i-0001", Nonce: "n"})
				early <- err
			}
			return nil
		}
		w.ready()
		w.submit("sleep 1", nil)
		if err := <-early; !errors.Is(err, federation.ErrConflict) {
			t.Errorf("%v, want a conflict", err)
		}
	})
}

// let speaks hello for all machines of a gang.
func (w *world) let() (ids []cloud.MachineID) {
	w.Helper()
	time.Sleep(time.Second)
	for _, m := range w.cloud.Living() {
		l, err := w.driver.Agents().Hello(context.Background(), gangOf(m), hello(m, "n"))
		if err != nil {
			w.Fatal(err)
		}
		ids = append(ids, l.Machine)
	}
	return ids
}

func (w *world) poll(m cloud.MachineID, p agentapi.Poll) agentapi.Orders {
	w.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	o, err := w.driver.Agents().Poll(ctx, m, p)
	if err != nil {
		w.Fatal(err)
	}
	return o
}

func (w *world) report(m cloud.MachineID, s agentapi.Status) {
	w.Helper()
	if err := w.driver.Agents().Report(context.Background(), m, agentapi.Report{Runs: []agentapi.Status{s}}); err != nil {
		w.Fatal(err)
	}
}

// TestLaunch: further machines are launched first, the head when they are ready, with all that it needs; the end is told to the rest, and the run may be forgotten when
// it is in the records.
func TestLaunch(t *testing.T) {
	byHand(t, func(w *world) {
		id := w.submit("echo hello", nodes(2))
		ids := w.let()
		head, rest := ids[0], ids[1]
		first := w.poll(rest, agentapi.Poll{})
		if len(first.Runs) != 1 || first.Runs[0].Launch == nil || first.Runs[0].Launch.Script != "" || first.Runs[0].Launch.Node != 1 {
			t.Fatalf("the further machine: %+v", first)
		}
		run := first.Runs[0].Run
		if o := w.poll(head, agentapi.Poll{}); len(o.Runs) != 0 {
			t.Fatalf("the head was launched before the other was ready: %+v", o.Runs[0])
		}
		if j := w.lookup(id); j.State != federation.Configuring || j.Start.IsZero() {
			t.Errorf("%+v", j)
		}
		w.report(rest, agentapi.Status{Run: run, State: agentapi.RunReady})
		o := w.poll(head, agentapi.Poll{})
		l := o.Runs[0].Launch
		if l == nil || !strings.Contains(l.Script, "echo hello") || l.Environment[0] != "PATH=/usr/bin:/bin" || l.Groups[0].Nodes[1].Name != "sky-main-2" ||
			l.Groups[0].Nodes[1].Steps == "" || len(l.Key) != 32 || l.User.UID != 2001 || !l.Stream || !l.Groups[0].Nodes[0].Whole {
			t.Fatalf("%+v", l)
		}
		known := agentapi.Poll{Version: o.Version, Known: []string{run}}
		if o = w.poll(head, known); o.Version != known.Version || o.Runs[0].Launch != nil {
			t.Errorf("nothing has changed, and the orders are %+v", o)
		}
		if user, err := w.driver.Agents().Owner(context.Background(), head, run); err != nil || user != "alice" {
			t.Errorf("owner %q, %v", user, err)
		}
		w.report(head, agentapi.Status{Run: run, State: agentapi.RunRunning, Start: time.Now()})
		steps := []agentapi.Step{{ID: "batch", Name: "batch", State: "COMPLETED", Tasks: 1, CPUs: 4, Used: agentapi.Used{User: 2 * time.Second, MaxRSS: 5 << 20, MaxNode: "sky-main-1"}}}
		w.report(head, agentapi.Status{Run: run, State: agentapi.RunEnded, Exit: 5 << 8, End: time.Now(), Steps: steps})
		if j := w.lookup(id); j.State != federation.Completing {
			t.Errorf("a machine has not ended its part yet: %s", j.State)
		}
		if o := w.poll(rest, agentapi.Poll{Version: first.Version, Known: []string{run}}); o.Runs[0].Stop == nil || o.Runs[0].Stop.Why != agentapi.WhyExit {
			t.Errorf("the further machine is told %+v", o.Runs)
		}
		w.report(rest, agentapi.Status{Run: run, State: agentapi.RunEnded})
		if j := w.lookup(id); j.State != federation.Failed || j.ExitStatus != 5<<8 || j.Reason != reasons.NonZeroExit {
			t.Errorf("%+v", j)
		}
		o = w.poll(head, agentapi.Poll{Known: []string{run}})
		if len(o.Runs) != 1 || !o.Runs[0].Ended {
			t.Errorf("what may be forgotten: %+v", o.Runs)
		}
		if o = w.poll(head, agentapi.Poll{Version: o.Version}); len(o.Runs) != 0 {
			t.Errorf("what was forgotten: %+v", o.Runs)
		}
		if _, err := w.driver.Agents().Owner(context.Background(), head, run); !errors.Is(err, federation.ErrDenied) {
			t.Errorf("owner of a run that is over: %v", err)
		}
		usage, err := w.driver.Measured(context.Background(), []federation.JobRef{{ID: id}, {ID: 1}})
		if err != nil || len(usage) != 1 || usage[id][0].User != 2*time.Second || usage[id][0].Steps[0].In.Max[0].Count != 5<<20 {
			t.Errorf("usage %+v, %v", usage, err)
		}
	})
}

// TestLog: output is appended in order, what is there already is passed over, a gap is refused, and others' runs too.
func TestLog(t *testing.T) {
	byHand(t, func(w *world) {
		ctx := context.Background()
		id := w.submit("echo hello", nil)
		m := w.let()[0]
		run := w.poll(m, agentapi.Poll{}).Runs[0].Run
		send := func(offset int64, text string) (int64, error) {
			return w.driver.Agents().Log(ctx, m, run, "out", offset, strings.NewReader(text))
		}
		for _, piece := range []struct {
			offset int64
			text   string
			size   int64
		}{{0, "hello ", 6}, {6, "world\n", 12}, {3, "lo world\nagain\n", 18}, {0, "hello", 18}, {18, "", 18}} {
			if n, err := send(piece.offset, piece.text); err != nil || n != piece.size {
				t.Errorf("%+v: size %d, %v", piece, n, err)
			}
		}
		if n, err := send(20, "x"); !errors.Is(err, federation.ErrConflict) || n != 18 {
			t.Errorf("a gap: %d, %v", n, err)
		}
		for _, bad := range []string{"30000009-00000000-1", "../../etc/passwd", ""} {
			if _, err := w.driver.Agents().Log(ctx, m, bad, "out", 0, strings.NewReader("x")); !errors.Is(err, federation.ErrDenied) {
				t.Errorf("output of run %q: %v", bad, err)
			}
		}
		text, err := os.ReadFile(filepath.Join(w.cfg.LogDir, run+".out"))
		if err != nil || string(text) != "hello world\nagain\n" {
			t.Errorf("%q, %v", text, err)
		}
		a := &federation.Attempt{Job: id, Key: w.lookup(id).Key}
		part, err := w.driver.ReadLog(ctx, &federation.Job{ID: id}, a, -1, false, 6, 5)
		if err != nil || string(part.Text) != "world" || !part.More || part.Done {
			t.Errorf("%+v, %v", part, err)
		}
		w.report(m, agentapi.Status{Run: run, State: agentapi.RunEnded})
		part, err = w.driver.ReadLog(ctx, &federation.Job{ID: id}, a, -1, false, 12, 100)
		if err != nil || string(part.Text) != "again\n" || part.More || !part.Done {
			t.Errorf("at the end: %+v, %v", part, err)
		}
		if _, err := w.driver.Agents().Log(ctx, m, run, "out", 18, io.LimitReader(strings.NewReader("late"), 4)); err != nil {
			t.Errorf("output that comes late: %v", err)
		}
	})
}

// A machine that says that others' runs have ended, or runs that never were, is not let write their output, and nothing is kept of what it says.
func TestRunsOfOthers(t *testing.T) {
	byHand(t, func(w *world) {
		w.submit("echo hello", nil)
		m := w.let()[0]
		own := w.poll(m, agentapi.Poll{}).Runs[0].Run
		names := []string{"30000009-00000000-1", "../escaped", "../../etc/passwd", ""}
		for i := range 1000 {
			names = append(names, fmt.Sprint(strings.Repeat("x", 1000), i))
		}
		before := w.poll(m, agentapi.Poll{}).Version
		for _, name := range names {
			w.report(m, agentapi.Status{Run: name, State: agentapi.RunEnded})
			if n, err := w.driver.Agents().Log(context.Background(), m, name, "out", 0, strings.NewReader("x")); !errors.Is(err, federation.ErrDenied) {
				t.Fatalf("output of run %.30q was taken: %d, %v", name, n, err)
			}
		}
		o := w.poll(m, agentapi.Poll{Version: before, Known: names[:1]})
		if len(o.Runs) != 1 || o.Runs[0].Run != own || o.Version == before {
			t.Errorf("version %d after %d, orders for %d runs; want those of the machine's own, at once: its agent forgets the others then", o.Version, before, len(o.Runs))
		}
		if left, err := filepath.Glob(filepath.Join(w.cfg.LogDir, "..", "*.out")); err != nil || len(left) > 0 {
			t.Errorf("files %v, %v", left, err)
		}
	})
}

// TestSignalWaits: Signal returns when all machines of the gang have carried it out.
func TestSignalWaits(t *testing.T) {
	byHand(t, func(w *world) {
		id := w.submit("sleep 100", nodes(2))
		ids := w.let()
		run := w.poll(ids[1], agentapi.Poll{}).Runs[0].Run
		w.report(ids[1], agentapi.Status{Run: run, State: agentapi.RunReady})
		w.report(ids[0], agentapi.Status{Run: run, State: agentapi.RunRunning})
		done := make(chan error, 1)
		go func() {
			done <- w.driver.Signal(context.Background(), federation.JobRef{ID: id}, nil, federation.Signal{Name: "USR1", Batch: true})
		}()
		time.Sleep(time.Second)
		for i, m := range ids {
			select {
			case err := <-done:
				t.Fatalf("it returned before machine %d had it: %v", i, err)
			default:
			}
			o := w.poll(m, agentapi.Poll{Known: []string{run}})
			if len(o.Signals) != 1 || o.Signals[0].Name != "USR1" || !o.Signals[0].Batch || o.Signals[0].Run != run {
				t.Fatalf("%+v", o.Signals)
			}
			if o = w.poll(m, agentapi.Poll{Version: o.Version, Known: []string{run}, Signals: o.Signals[0].Seq}); len(o.Signals) != 0 {
				t.Errorf("carried out, and told again: %+v", o.Signals)
			}
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestTimeLimit: an agent that lets the limit pass is told to stop the job.
func TestTimeLimit(t *testing.T) {
	byHand(t, func(w *world) {
		id := w.submit("sleep 1000", func(s *federation.Submission) { s.Job.Spec.TimeLimit = time.Minute })
		m := w.let()[0]
		o := w.poll(m, agentapi.Poll{})
		run := o.Runs[0].Run
		w.report(m, agentapi.Status{Run: run, State: agentapi.RunRunning})
		for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); {
			o = w.poll(m, agentapi.Poll{Version: o.Version, Known: []string{run}})
			if s := o.Runs[0].Stop; s != nil {
				if s.Why != agentapi.WhyTimeout {
					t.Errorf("%+v", s)
				}
				w.report(m, agentapi.Status{Run: run, State: agentapi.RunEnded, Why: agentapi.WhyTimeout, Exit: 15})
				w.wants(id, federation.Timeout, time.Second)
				return
			}
		}
		t.Error("it was never told to stop")
	})
}
