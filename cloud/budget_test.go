package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"fsub/accounting"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

func limited(d time.Duration) func(*federation.Submission) {
	return func(s *federation.Submission) { s.Job.Spec.TimeLimit = d }
}

// update changes a job's time limit.
func (w *world) update(id federation.JobID, from, to time.Duration) error {
	before, after := w.job("", limited(from)).Job, w.job("", limited(to)).Job
	after.Submit, after.ID = before.Submit, before.ID
	return w.driver.Update(context.Background(), federation.JobRef{ID: id}, "", before, after)
}

// TestBudget: what runs binds the day's money until its time limit. What could cost more than is left is given back with figures, also by the next daemon; what is cheap enough
// is not. A job that ends early gives back what it did not use.
func TestBudget(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Daily = 4 * federation.Dollar
		w.ready()
		long := w.submit("sleep 5400", limited(3*time.Hour)) // binds $3.02 with its boot
		refused := func(limit time.Duration, says string) {
			t.Helper()
			j := w.wants(w.submit("sleep 1", func(s *federation.Submission) { bob(s); limited(limit)(s) }), federation.BootFail, time.Minute)
			if !j.Returned || j.Reason != reasons.Budget || !strings.Contains(j.Detail, says) {
				t.Errorf("%+v", j)
			}
		}
		refused(time.Hour, "may cost $1.02 today until its time limit, $0.98 left: of $4.00 $0.00 spent, $3.02 bound by running jobs")
		w.wants(long, federation.Running, time.Minute)
		refused(time.Hour, "bound by running jobs")
		refused(24*time.Hour, "pool main: may cost $24.00 today")
		w.wants(w.submit("sleep 1", func(s *federation.Submission) { bob(s); limited(20 * time.Minute)(s) }), federation.Completed, time.Minute)
		w.stop() // what is bound is in the records
		w.ready()
		refused(time.Hour, "bound by running jobs")
		if p := w.driver.Pools()[0]; p.BoundToday < 2.9*federation.Dollar || p.BoundToday > 3.1*federation.Dollar || p.BoundMonth != 0 || p.Stopped != "" {
			t.Errorf("%+v", p)
		}
		o, err := w.driver.Observe(context.Background())
		if a := o.Partitions[0].Allowances; err != nil || len(a) != 3 || a[0].Budget != 4*federation.Dollar || a[0].Left() > federation.Dollar || a[1].Left() != 4*federation.Dollar || a[1].Name != "on 2000-01-02" {
			t.Errorf("%+v, %v", a, err)
		}
		w.wants(long, federation.Completed, 2*time.Hour)
		w.wants(w.submit("sleep 1", func(s *federation.Submission) { bob(s); limited(2 * time.Hour)(s) }), federation.Completed, time.Minute)
	})
}

// TestBudgetIsSpent: when the money is spent, since a job was suspended and its machine costs all the same, what runs goes on, nothing is started, idle machines are ended at once, and the nodes say why; the next day
// it goes on.
func TestBudgetIsSpent(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Daily, w.cfg.Pools[0].Idle = 3*federation.Dollar, 10*time.Hour
		w.ready()
		long := w.submit("sleep 7000", limited(2*time.Hour))
		w.wants(long, federation.Running, time.Minute)
		w.wants(w.submit("sleep 1", limited(10*time.Minute)), federation.Completed, time.Minute)
		time.Sleep(10 * time.Minute)
		if n := len(w.cloud.Living()); n != 2 {
			t.Fatalf("%d machines, one of which is idle", n)
		}
		w.suspend(long)
		time.Sleep(2 * time.Hour)
		if n := len(w.cloud.Living()); n != 1 {
			t.Errorf("%d machines: the idle one costs what is not there", n)
		}
		if p := w.driver.Pools()[0]; !strings.Contains(p.Stopped, "of its $3.00 for today, and running jobs may cost $") {
			t.Errorf("%+v", p)
		}
		late := w.wants(w.submit("sleep 1", func(s *federation.Submission) { bob(s); limited(time.Minute)(s) }), federation.BootFail, time.Minute)
		if !late.Returned || late.Reason != reasons.Budget {
			t.Errorf("%+v", late)
		}
		o, err := w.driver.Observe(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range o.Nodes {
			if !slices.Contains(n.State, "ALLOCATED") && !slices.Contains(n.State, "POWERING_DOWN") && !strings.HasPrefix(n.Reason, "FedBudget: ") {
				t.Errorf("node %+v", n)
			}
		}
		w.resume(long)
		w.wants(long, federation.Completed, 2*time.Hour)
		time.Sleep(23 * time.Hour)
		w.wants(w.submit("sleep 1", bob), federation.Completed, time.Minute)
	})
}

// TestBudgetRaisedLimit: a time limit is raised as far as the budget can pay for it, as at the start; the refusal says what is left. It may be lowered, which gives money back.
func TestBudgetRaisedLimit(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Daily = 4 * federation.Dollar
		w.ready()
		id := w.submit("sleep 5400", limited(2*time.Hour))
		w.wants(id, federation.Running, time.Minute)
		other := w.submit("sleep 5400", func(s *federation.Submission) { bob(s); limited(time.Hour)(s) })
		w.wants(other, federation.Running, time.Minute)
		var said *federation.SlurmError
		if err := w.update(id, 2*time.Hour, 4*time.Hour); !errors.As(err, &said) || said.Number != 2050 ||
			!strings.HasPrefix(said.Text, "Job violates accounting/QOS policy (budget of pool main: with that limit it may cost $2.00 today until its time limit, $0.") {
			t.Errorf("twice as long: %v", err)
		}
		if l := w.lookup(id).Limit; l != 2*time.Hour {
			t.Errorf("it was refused, and the limit is %s", l)
		}
		if err := w.update(id, 2*time.Hour, 160*time.Minute); err != nil {
			t.Errorf("what can be paid: %v", err)
		}
		if err := w.update(other, time.Hour, 100*time.Minute); err == nil {
			t.Error("the money is bound")
		}
		if err := w.update(id, 160*time.Minute, 100*time.Minute); err != nil {
			t.Errorf("a shorter limit: %v", err)
		}
		if err := w.update(other, time.Hour, 100*time.Minute); err != nil {
			t.Errorf("the money is free again: %v", err)
		}
	})
}

// TestBudgetOfTomorrow: a job that goes on into a day that cannot pay for it is not begun today.
func TestBudgetOfTomorrow(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Daily, w.cfg.Pools[0].Monthly = 10*federation.Dollar, 12*federation.Dollar
		w.ready()
		time.Sleep(20 * time.Hour)
		for limit, says := range map[time.Duration]string{18 * time.Hour: "on 2000-01-02", 13 * time.Hour: "this month"} {
			if j := w.wants(w.submit("sleep 1", limited(limit)), federation.BootFail, time.Minute); !strings.Contains(j.Detail, says) {
				t.Errorf("%s: %+v", limit, j)
			}
		}
		w.wants(w.submit("sleep 1", limited(10*time.Hour)), federation.Completed, time.Minute)
	})
}

// TestNoLimit: a job without a time limit binds what it is expected to cost, and when it runs for longer an hour more, again and again.
func TestNoLimit(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Daily = 6 * federation.Dollar
		w.ready()
		id := w.submit("sleep 40000", func(s *federation.Submission) {
			s.Job.Spec.TimeLimit, s.Offer.Run = sbatch.Unlimited, 4*time.Hour
		})
		w.wants(id, federation.Running, time.Minute)
		for after, want := range map[time.Duration]federation.Money{time.Minute: 4 * federation.Dollar, 5 * time.Hour: federation.Dollar} {
			time.Sleep(after)
			if p := w.driver.Pools()[0]; p.BoundToday < want-0.05*federation.Dollar || p.BoundToday > want+0.05*federation.Dollar {
				t.Errorf("after %s $%s are bound, want $%s", after, p.BoundToday, want)
			}
			if after > time.Hour {
				break
			}
		}
	})
}

// TestClassesByLimit: a job that the budget bears does not wait behind a like one that it does not bear, or that has waited for long.
func TestClassesByLimit(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Daily, w.cfg.Pools[0].Max = 5*federation.Dollar, 1
		w.ready()
		busy := w.submit("sleep 600", limited(time.Hour))
		dear := w.submit("sleep 1", limited(10*time.Hour))
		cheap := w.submit("sleep 1", limited(10*time.Minute))
		w.wants(busy, federation.Completed, 20*time.Minute)
		w.wants(dear, federation.BootFail, time.Minute)
		w.wants(cheap, federation.Completed, time.Minute)
	})
}

// TestNeverOverBudget: whatever jobs come, end early or are killed at their limit, and whenever the daemon is started anew, what is spent and bound is never more than the budget, but
// for the seconds that an idle machine takes to be ended.
func TestNeverOverBudget(t *testing.T) {
	for seed := range uint64(full(5, 100)) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			bubble(t, func(w *world) { spendAtRandom(t, w, rand.New(rand.NewPCG(seed, 11))) })
		})
	}
}

func spendAtRandom(t *testing.T, w *world, rng *rand.Rand) {
	price := 0.5 + 3*rng.Float64()
	daily, monthly := accounting.MoneyOf(5+35*rng.Float64()), federation.Money(0)
	if rng.IntN(2) == 0 {
		monthly = accounting.MoneyOf(daily.Dollars() * (1 + rng.Float64()))
	}
	w.cloud.Offers = []provider.Offering{offer("small", price), offer("large", 2*price)}
	p := &w.cfg.Pools[0]
	p.Daily, p.Monthly, p.Idle, p.Shared, p.Min = daily, monthly, time.Duration(rng.IntN(90))*time.Minute+time.Second, rng.IntN(3) == 0, rng.IntN(2)
	w.ready()
	returned, ended := 0, 0
	open := map[federation.JobID]bool{}
	slack := accounting.MoneyOf(float64(p.Max) * 2 * price * (40 * time.Second).Hours())
	for begin := time.Now(); time.Since(begin) < 3*24*time.Hour; time.Sleep(time.Duration(20+rng.IntN(400)) * time.Second) {
		switch rng.IntN(12) {
		case 0, 1, 2, 3:
			limit := time.Duration(10+rng.IntN(600)) * time.Minute
			runs := time.Duration(rng.Int64N(int64(limit) * 5 / 4)) // some are killed at their limit
			id := w.submit(fmt.Sprintf("sleep %d", int(runs.Seconds())), func(s *federation.Submission) {
				s.Job.Spec.TimeLimit, s.Job.Spec.MinNodes = limit, 1+rng.IntN(3)
				s.Job.Spec.MaxNodes, s.Job.Spec.CPUsPerTask = s.Job.Spec.MinNodes, 1+rng.IntN(4)
				if rng.IntN(2) == 0 {
					bob(s)
				}
			})
			open[id] = true
		case 4:
			w.stop()
			w.ready()
		case 5:
			for id := range open {
				_ = w.driver.Cancel(context.Background(), federation.JobRef{ID: id}, nil)
				break
			}
		case 7:
			for id := range open { // longer or shorter: what the budget does not bear is refused
				if was := w.lookup(id).Limit; !w.lookup(id).State.Ended() {
					_ = w.update(id, was, was*time.Duration(5+rng.IntN(20))/10)
				}
				break
			}
		case 6:
			if living := w.cloud.Living(); len(living) > 0 {
				w.cloud.Kill(living[rng.IntN(len(living))].ID, "hardware")
			}
		}
		for id := range open {
			if j := w.lookup(id); j.State.Ended() {
				delete(open, id)
				if j.Returned {
					returned++
				} else {
					ended++
				}
			}
		}
		s := w.driver.Pools()[0]
		if s.Today+s.BoundToday > daily+slack || monthly > 0 && s.Month+s.BoundMonth > monthly+slack {
			t.Fatalf("after %s: $%s spent and $%s bound of $%s today, $%s and $%s of $%s in the month; slack $%s", time.Since(begin), s.Today, s.BoundToday, daily,
				s.Month, s.BoundMonth, monthly, slack)
		}
	}
	t.Logf("$%.2f an hour, $%s a day, $%s a month: %d jobs ended, %d were given back, $%s spent", price, daily, monthly, ended, returned, w.driver.Pools()[0].Month)
}

// full is how many times something random is tried: more when there is time.
func full(usual, most int) int {
	if os.Getenv("FSUB_FULL") != "" {
		return most
	}
	return usual
}
