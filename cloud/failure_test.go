package cloud_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"fsub/accounting"
	"fsub/cloud"
	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/reasons"
)

// bubble runs a test on virtual time; the world ends with it.
func bubble(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer func() {
			if w.stop != nil {
				w.stop()
			}
			for _, m := range w.cloud.Living() {
				w.cloud.Kill(m.ID, "the test is over")
			}
		}()
		f(w)
		w.sound()
	})
}

// TestSpot: 200 jobs that keep checkpoints run on machines that are taken back at random. All finish, none runs twice at once, and no work is lost but
// that since the last checkpoint.
func TestSpot(t *testing.T) {
	bubble(t, func(w *world) {
		const jobs, work = 200, 120
		rng := rand.New(rand.NewPCG(1, 2))
		w.cloud.Offers[0].Market, w.cloud.Offers[0].Interrupts = provider.Spot, 20
		w.cfg.Pools[0].Max = 64
		w.ready()
		live := map[federation.JobID]federation.Submission{}
		number := map[federation.JobID]int{}
		for range jobs {
			s := w.job("work 120", func(s *federation.Submission) { s.Job.Spec.CPUsPerTask = 4 })
			if _, err := w.driver.Submit(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			live[s.Job.ID], number[s.Job.ID] = s, 1
		}
		preempted, began := 0, time.Now()
		for len(live) > 0 && time.Since(began) < 12*time.Hour {
			time.Sleep(3 * time.Second)
			if living := w.cloud.Living(); len(living) > 0 {
				m := living[rng.IntN(len(living))]
				switch rng.IntN(3) {
				case 0: // without a word
					w.cloud.Kill(m.ID, "Server.SpotInstanceTermination")
				case 1:
					w.cloud.Preempt(m.ID, 2*time.Minute)
				default:
					w.cloud.Preempt(m.ID, 3*time.Second)
				}
			}
			for id, s := range live {
				j := w.lookup(id)
				switch {
				case j.State == federation.Completed:
					delete(live, id)
				case j.State == federation.Preempted || j.Returned || j.State == federation.BootFail: // as the controller does: a new attempt
					if j.State == federation.Preempted {
						preempted++
					}
					number[id]++
					s.Key = federation.AttemptKey("test", s.Job, number[id])
					s.Restarts++
					live[id] = s
					if _, err := w.driver.Submit(context.Background(), s); err != nil {
						t.Fatalf("Submit again: %v", err)
					}
				case j.State.Ended():
					t.Fatalf("job %d ended as %+v", id, j)
				}
			}
		}
		if len(live) > 0 || preempted < 20 {
			t.Fatalf("%d jobs are left after %s, %d preemptions", len(live), time.Since(began), preempted)
		}
		for id := range number {
			if got := w.cloud.Job(id).Done; got != work*time.Second {
				t.Errorf("job %d has done %s of work, want %ds", id, got, work)
			}
		}
		t.Logf("%d preemptions in %s", preempted, time.Since(began))
	})
}

// TestBoots: machines that never say a word are given up, the job is tried on others a few times, and ends as BOOT_FAIL. Nothing is left.
func TestBoots(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.NoBoot = func(*provider.Request, string) bool { return true }
		w.ready()
		id := w.submit("sleep 5", func(s *federation.Submission) { s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes = 2, 2 })
		j := w.wants(id, federation.BootFail, 2*time.Hour)
		if n := len(w.cloud.Machines()); j.Returned || n != 6 {
			t.Errorf("%d machines were tried, %+v", n, j)
		}
		w.until("nothing is left", 10*time.Minute, func() bool { return len(w.cloud.Living()) == 0 })
	})
}

// TestHalfAGang: of a gang of which one machine does not come up nothing is started; the other one is used for the next try.
func TestHalfAGang(t *testing.T) {
	bubble(t, func(w *world) {
		silent := 0
		w.cloud.NoBoot = func(r *provider.Request, name string) bool {
			if len(r.Names) == 3 && name == r.Names[1] {
				silent++
				return true
			}
			return false
		}
		w.cfg.Pools[0].Idle = 30 * time.Minute
		w.ready()
		id := w.submit("sleep 5", func(s *federation.Submission) { s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes = 3, 3 })
		w.wants(id, federation.Completed, time.Hour)
		if ran := w.cloud.Job(id); ran.Starts != 1 || ran.Nodes != 3 || silent != 1 || len(w.cloud.Machines()) != 4 {
			t.Errorf("%+v, %d silent machines of %d", ran, silent, len(w.cloud.Machines()))
		}
	})
}

// TestMachineFails: a machine of a gang dies. The job ends as one, with the reason, and what remains is used again.
func TestMachineFails(t *testing.T) {
	for why, want := range map[string]federation.State{"hardware": federation.NodeFail, "Server.SpotInstanceTermination": federation.Preempted} {
		t.Run(why, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.ready()
				id := w.submit("sleep 500", func(s *federation.Submission) { s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes = 3, 3 })
				w.wants(id, federation.Running, 5*time.Minute)
				w.cloud.Kill(w.cloud.Machines()[1].ID, why)
				j := w.wants(id, want, 5*time.Minute)
				if j.PricePerHour != 3*federation.Dollar || j.NumNodes != 3 || !strings.Contains(j.Detail, "sky-main-2") {
					t.Errorf("%+v", j)
				}
				next := w.submit("sleep 1", func(s *federation.Submission) { s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes = 2, 2 })
				w.wants(next, federation.Completed, time.Minute)
				if n := len(w.cloud.Machines()); n != 3 {
					t.Errorf("%d machines were made, want no new ones", n)
				}
			})
		})
	}
}

// TestSilence: the daemon cannot be reached for longer than the lease. The machines end themselves; when it is back their job has ended, not before that is proved,
// and nothing runs twice.
func TestSilence(t *testing.T) {
	bubble(t, func(w *world) {
		w.ready()
		id := w.submit("sleep 3000", nil)
		w.wants(id, federation.Running, 5*time.Minute)
		w.stop()
		time.Sleep(20 * time.Second)
		if n := w.cloud.Job(id).Living; n != 1 {
			t.Fatalf("20 seconds after the daemon's end %d scripts run", n)
		}
		time.Sleep(3 * time.Minute)
		if n := len(w.cloud.Living()); n != 0 {
			t.Fatalf("%d machines live on after their lease", n)
		}
		w.ready()
		w.wants(id, federation.NodeFail, 5*time.Minute)
	})
}

// TestStrays: machines with our tag of which the records know nothing are ended after a grace, and entered in the records.
func TestStrays(t *testing.T) {
	bubble(t, func(w *world) {
		r := provider.Request{Token: "sky-99-unknown", Site: "sky", Offering: w.cloud.Offers[0], Count: 2, Names: []string{"a", "b"}}
		if _, err := w.cloud.Create(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		w.cloud.NoBoot = nil
		w.ready()
		w.until("the orphans are gone", 10*time.Minute, func() bool { return len(w.cloud.Living()) == 0 })
		w.until("the orphans are in the records", 5*time.Minute, func() bool {
			n := 0
			for _, r := range w.records(records.PoolMachine) {
				if !r.Closed.IsZero() {
					n++
				}
			}
			return n == 2
		})
	})
}

// TestStrayThatEndedUnseen: a machine that nobody has recorded, and that ended while no daemon looked, is charged for until the cloud says that it ended, and
// for the least that the cloud charges if that was sooner.
func TestStrayThatEndedUnseen(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.NoBoot = func(*provider.Request, string) bool { return true }
		w.cloud.Offers[0].Least = time.Minute
		for i, life := range []time.Duration{30 * time.Minute, 6 * time.Second} {
			made, err := w.cloud.Create(w.Context(), provider.Request{Token: fmt.Sprint("sky-99-unknown", i), Site: "sky", Offering: w.cloud.Offers[0], Count: 1, Names: []string{fmt.Sprint("a", i)}})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(life)
			w.cloud.Kill(made[0].ID, "Server.InternalError")
		}
		time.Sleep(20 * time.Minute)
		w.ready()
		w.until("the orphans are in the records", 5*time.Minute, func() bool { return len(w.records(records.PoolMachine)) == 2 })
		var cost federation.Money
		for _, r := range w.records(records.PoolMachine) {
			m, err := cloud.MachineOf(r, time.Now())
			if err != nil || time.Since(m.Ended) < 20*time.Minute {
				t.Errorf("%s ended at %s, %s ago: %v", m.Instance, m.Ended, time.Since(m.Ended), err)
			}
			cost += m.Cost
		}
		if want := accounting.MoneyOf(1).For(31 * time.Minute); cost != want {
			t.Errorf("they cost $%s, want $%s", cost.Text(6), want.Text(6))
		}
	})
}

// TestLostReplies: every reply of the cloud to a Create is lost, twice. The gang is asked for again under its token, and made once.
func TestLostReplies(t *testing.T) {
	bubble(t, func(w *world) {
		lost := 0
		w.cloud.After = func(op string, _ *provider.Request) error {
			if op == "Create" && lost < 2 {
				lost++
				return errLost
			}
			return nil
		}
		w.ready()
		id := w.submit("sleep 5", func(s *federation.Submission) { s.Job.Spec.MinNodes, s.Job.Spec.MaxNodes = 2, 2 })
		w.wants(id, federation.Completed, 10*time.Minute)
		if n := len(w.cloud.Machines()); n != 2 || lost != 2 {
			t.Errorf("%d machines, %d lost replies", n, lost)
		}
	})
}

// TestFailureIsSlow: a script that fails because a machine of its gang has is reported before the machine's end is known. The job is not to blame.
func TestFailureIsSlow(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.Lag = 0
		w.ready()
		id := w.submit("sleep 20\nexit 1", nodes(2))
		w.wants(id, federation.Running, time.Minute)
		w.cloud.Kill(w.cloud.Machines()[1].ID, "hardware")
		w.cloud.Change(func(p *cloudtest.Provider) {
			p.Before = func(op string, _ *provider.Request) error { // and the cloud cannot be asked
				if op == "List" {
					return errLost
				}
				return nil
			}
		})
		w.wants(id, federation.Completing, time.Minute)
		w.wants(id, federation.NodeFail, 10*time.Minute)
	})
}

// TestNoticeToAGang: one machine of a gang will be taken. The job is preempted as a whole within the lead time.
func TestNoticeToAGang(t *testing.T) {
	bubble(t, func(w *world) {
		w.ready()
		id := w.submit("work 1000", nodes(3))
		w.wants(id, federation.Running, time.Minute)
		w.cloud.Preempt(w.cloud.Machines()[2].ID, 2*time.Minute)
		j := w.wants(id, federation.Preempted, 2*time.Minute)
		time.Sleep(3 * time.Minute)
		if n := len(w.cloud.Living()); n != 0 && n != 2 || j.ExitStatus == 0 {
			t.Errorf("%d machines live, %+v", n, j)
		}
	})
}

// TestCancelWhileBooting: the job is over at once; its machines come up, serve the next job, and are ended when nobody needs them.
func TestCancelWhileBooting(t *testing.T) {
	bubble(t, func(w *world) {
		w.ready()
		id := w.submit("sleep 1", nodes(2))
		if j := w.lookup(id); j.State != federation.Pending || j.Reason != reasons.Boot || !j.Start.IsZero() {
			t.Errorf("%+v", j)
		}
		if err := w.driver.Cancel(context.Background(), federation.JobRef{ID: id}, nil); err != nil {
			t.Fatal(err)
		}
		if j := w.lookup(id); j.State != federation.Cancelled || !j.Start.IsZero() || j.End.IsZero() {
			t.Errorf("%+v", j)
		}
		next := w.submit("sleep 1", nodes(2))
		w.wants(next, federation.Completed, time.Minute)
		if n := len(w.cloud.Machines()); n != 2 || w.cloud.Job(id).Starts != 0 {
			t.Errorf("%d machines were made, the cancelled job started %d times", n, w.cloud.Job(id).Starts)
		}
		w.until("nothing is left", 10*time.Minute, func() bool { return len(w.cloud.Living()) == 0 })
	})
}

// TestDiesAtBoot: machines that end as they boot are not made again and again, whatever number of jobs wait for them.
func TestDiesAtBoot(t *testing.T) {
	bubble(t, func(w *world) {
		var lives atomic.Bool
		w.cloud.NoBoot = func(*provider.Request, string) bool { return !lives.Load() }
		w.cloud.After = func(op string, _ *provider.Request) error {
			if op == "Create" && !lives.Load() {
				for _, m := range w.cloud.Living() {
					time.AfterFunc(time.Second, func() { w.cloud.Kill(m.ID, "Client.InternalError") })
				}
			}
			return nil
		}
		w.ready()
		subs := map[federation.JobID]federation.Submission{}
		for range 5 {
			s := w.job("sleep 5", nil)
			if _, err := w.driver.Submit(context.Background(), s); err != nil {
				t.Fatal(err)
			}
			subs[s.Job.ID] = s
		}
		time.Sleep(30 * time.Second)
		for id := range subs {
			if j := w.lookup(id); j.State != federation.Pending || j.Reason != reasons.Boot && j.Reason != reasons.Priority {
				t.Errorf("%+v", j)
			}
		}
		time.Sleep(time.Hour)
		if n := w.cloud.Calls("Create", time.Now().Add(-2*time.Hour)); n < 2 || n > 20 {
			t.Errorf("%d calls of Create in an hour", n)
		}
		lives.Store(true)
		id := w.submit("sleep 5", bob)
		w.wants(id, federation.Completed, 2*time.Hour)
	})
}

// TestReasonWhileThrottled: a job whose gang is asked for again and again says why it waits; when the gang is there, that its machines start.
func TestReasonWhileThrottled(t *testing.T) {
	bubble(t, func(w *world) {
		var lets atomic.Bool
		w.cloud.Before = func(op string, _ *provider.Request) error {
			if op == "Create" && !lets.Load() {
				return &provider.Error{Kind: provider.KindThrottled, Scope: provider.ScopeCloud, Code: "RequestLimitExceeded", Text: "slow down"}
			}
			return nil
		}
		w.ready()
		id := w.submit("sleep 5", nil)
		time.Sleep(time.Second)
		if j := w.lookup(id); j.State != federation.Pending || j.Reason != reasons.Throttled || !strings.Contains(j.Detail, "slow down") {
			t.Errorf("%+v", j)
		}
		w.stop() // what it waits for is in the records
		w.ready()
		lets.Store(true)
		w.until("its machine starts", time.Minute, func() bool { return w.lookup(id).Reason == reasons.Boot })
		w.wants(id, federation.Completed, time.Minute)
		if n := len(w.cloud.Machines()); n != 1 {
			t.Errorf("%d machines were made", n)
		}
	})
}

// TestTakenBack: another spot machine of an offering can be had as soon as one was taken back, with a lower availability, which a restart of the daemon does not change.
func TestTakenBack(t *testing.T) {
	bubble(t, func(w *world) {
		w.cloud.Offers[0].Market = provider.Spot
		w.ready()
		for n := range 2 {
			id := w.submit("sleep 600", nil)
			w.wants(id, federation.Running, 10*time.Minute)
			if n > 0 {
				break
			}
			w.cloud.Kill(w.cloud.Living()[0].ID, "Server.SpotInstanceTermination")
			w.wants(id, federation.Preempted, 10*time.Minute)
			for _, p := range w.driver.Pools() {
				if len(p.Cooling) > 0 {
					t.Errorf("nothing was refused: %+v", p.Cooling)
				}
			}
		}
		chance := func() float64 {
			obs, err := w.driver.Observe(t.Context())
			if err != nil || obs.Nodes[0].Rented == nil {
				t.Fatalf("%+v, %v", obs, err)
			}
			return obs.Nodes[0].Rented.Chance
		}
		before := chance()
		if before <= 0 || before >= 1 {
			t.Errorf("one was taken back, and the availability is %v", before)
		}
		w.stop()
		w.ready()
		if got := chance(); got != before {
			t.Errorf("after a restart the availability is %v, before it was %v", got, before)
		}
	})
}
