package cloud_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"fsub/cloud/provider"
	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/reasons"
)

// refusals are what a cloud may answer for hours, and how often it may be asked within one.
var refusals = []struct {
	name   string
	err    provider.Error
	reason reasons.Reason
	calls  int // of Create in an hour, at most
}{
	{"stock-out", provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Code: "InsufficientInstanceCapacity", Text: "none left"}, reasons.StockOut, 12},
	{"quota", provider.Error{Kind: provider.KindQuota, Scope: provider.ScopeRegion, Code: "VcpuLimitExceeded", Text: "limit 0"}, reasons.Quota, 12},
	{"denied", provider.Error{Kind: provider.KindDenied, Scope: provider.ScopeCloud, Code: "AuthFailure", Text: "no"}, reasons.CloudDenied, 12},
	{"throttled", provider.Error{Kind: provider.KindThrottled, Scope: provider.ScopeCloud, Code: "RequestLimitExceeded", Text: "slow down"}, reasons.Throttled, 40},
	{"invalid", provider.Error{Kind: provider.KindInvalid, Scope: provider.ScopeOffering, Code: "InvalidParameterValue", Text: "no such subnet"}, reasons.Refused, 12},
	{"unavailable", provider.Error{Kind: provider.KindUnavailable, Scope: provider.ScopeCloud, Text: "no route"}, reasons.SiteUnavailable, 40},
}

// TestRefusals: whatever the cloud refuses for an hour, the jobs wait with its reason, or are given back with it, and the cloud is asked a bounded number of
// times. When it can be had again the jobs run.
func TestRefusals(t *testing.T) {
	for _, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(w *world) {
				var lets atomic.Bool
				w.cloud.Before = func(op string, _ *provider.Request) error {
					if op == "Create" && !lets.Load() {
						e := c.err
						return &e
					}
					return nil
				}
				w.ready()
				const jobs = 100
				subs := map[federation.JobID]federation.Submission{}
				for range jobs {
					s := w.job("sleep 5", nil)
					if _, err := w.driver.Submit(context.Background(), s); err != nil {
						t.Fatal(err)
					}
					subs[s.Job.ID] = s
				}
				begin := time.Now()
				resubmit(w, subs, time.Hour, func(j federation.SiteJob) {
					if j.Returned && (j.Reason != c.reason || !strings.Contains(j.Detail, c.err.Text)) {
						t.Errorf("given back with %s %q, want %s", j.Reason, j.Detail, c.reason)
					}
				})
				if n := w.cloud.Calls("Create", begin.Add(-time.Minute)); n > c.calls || n == 0 {
					t.Errorf("%d calls of Create in an hour, want 1 to %d", n, c.calls)
				}
				if n := w.cloud.Calls("Delete", begin); n > 0 {
					t.Errorf("%d calls of Delete, where nothing was made", n)
				}
				lets.Store(true)
				resubmit(w, subs, 4*time.Hour, func(federation.SiteJob) {})
				for id := range subs {
					if n := w.cloud.Job(id).Starts; n != 1 {
						t.Fatalf("job %d was started %d times", id, n)
					}
				}
			})
		})
	}
}

// TestRefusedAtOnce: many gangs are asked for before the first answer has come. What the first are told keeps the others from being asked for.
func TestRefusedAtOnce(t *testing.T) {
	bubble(t, func(w *world) {
		w.cfg.Pools[0].Max = 200
		w.cloud.Before = func(op string, _ *provider.Request) error {
			if op != "Create" {
				return nil
			}
			time.Sleep(3 * time.Second)
			return &provider.Error{Kind: provider.KindStockOut, Scope: provider.ScopeOffering, Code: "InsufficientInstanceCapacity", Text: "none left"}
		}
		w.ready()
		begin := time.Now()
		for range 200 {
			w.submit("sleep 5", nil)
		}
		time.Sleep(time.Minute)
		if n := w.cloud.Calls("Create", begin); n < 1 || n > 8 {
			t.Errorf("%d calls of Create", n)
		}
		if n := len(w.records(records.PoolGang)); n == 0 {
			t.Error("no gang was thought of")
		}
	})
}

// TestQuotaIsShared: what one type is refused for, since the account's quota is used up, no type of the same group is asked for that is as large; a smaller one may be had still, and says
// what it is refused for itself. Other groups and markets have quotas of their own.
func TestQuotaIsShared(t *testing.T) {
	bubble(t, func(w *world) {
		var limit atomic.Int64
		limit.Store(8)
		w.cloud.Offers = nil
		for _, o := range []struct {
			id, quota string
			market    provider.Market
			cpus      int
		}{{"g6.big", "G and VT", provider.OnDemand, 48}, {"g6.mid", "G and VT", provider.OnDemand, 16}, {"g5.mid", "G and VT", provider.OnDemand, 16}, {"g5.small", "G and VT", provider.OnDemand, 4},
			{"g6.spot", "G and VT", provider.Spot, 16}, {"c7.big", "Standard", provider.OnDemand, 48}} {
			one := offer(o.id, float64(o.cpus))
			one.Quota, one.Market, one.CPUs = o.quota, o.market, o.cpus
			w.cloud.Offers = append(w.cloud.Offers, one)
		}
		w.cloud.Before = func(op string, r *provider.Request) error {
			if op == "Create" && r.Offering.Quota == "G and VT" && r.Offering.Market == provider.OnDemand && int64(r.Offering.CPUs) > limit.Load() {
				return &provider.Error{Kind: provider.KindQuota, Scope: provider.ScopeRegion, Code: "VcpuLimitExceeded", Text: "8 vCPUs"}
			}
			return nil
		}
		w.ready()
		begin := time.Now()
		try := func(id string, state federation.State, calls int) {
			t.Helper()
			j := w.wants(w.submit("sleep 1", func(s *federation.Submission) { s.Offer.Offering = id }), state, time.Minute)
			if state == federation.BootFail && (!j.Returned || j.Reason != reasons.Quota) {
				t.Errorf("%s: %+v", id, j)
			}
			if n := w.cloud.Calls("Create", begin); n != calls {
				t.Errorf("%s: %d calls of Create, want %d", id, n, calls)
			}
		}
		try("g6.big", federation.BootFail, 1)
		try("g6.mid", federation.BootFail, 2) // it is smaller: it might be had
		try("g5.mid", federation.BootFail, 2) // it is not
		try("g6.big", federation.BootFail, 2)
		try("g5.small", federation.Completed, 3)
		try("g6.spot", federation.Completed, 4)
		try("c7.big", federation.Completed, 5)
		try("g6.mid", federation.BootFail, 5) // that the small one could be had says nothing of it
		w.stop()
		w.ready()
		try("g5.mid", federation.BootFail, 5)
		limit.Store(100)
		time.Sleep(11 * time.Minute)
		try("g6.big", federation.Completed, 6)
		try("g5.mid", federation.Completed, 7)
	})
}

// resubmit hands jobs that were given back over again when the site shows nodes that can be had, as the controller does, until all have run or the time is over.
func resubmit(w *world, subs map[federation.JobID]federation.Submission, within time.Duration, look func(federation.SiteJob)) {
	w.Helper()
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(5 * time.Second) {
		o, err := w.driver.Observe(context.Background())
		if err != nil {
			w.Fatal(err)
		}
		usable := false
		for i := range o.Nodes {
			usable = usable || o.Nodes[i].Usable()
			if n := &o.Nodes[i]; !n.Usable() && n.Reason == "" {
				w.Fatalf("node without a reason: %+v", n)
			}
		}
		left := 0
		for id, s := range subs {
			j := w.lookup(id)
			look(j)
			if j.State != federation.Completed {
				left++
			}
			if j.Returned && usable {
				s.Job.Attempt++
				s.Key = federation.AttemptKey("test", s.Job, s.Job.Attempt)
				subs[id] = s
				if _, err := w.driver.Submit(context.Background(), s); err != nil {
					w.Fatal(err)
				}
			}
		}
		if left == 0 {
			return
		}
	}
}

// TestRefusedGPUs: GPUs that no Slurm takes are refused with its error and in its words, and not as machines that are not offered.
func TestRefusedGPUs(t *testing.T) {
	bubble(t, func(w *world) {
		w.ready()
		_, err := w.driver.Submit(context.Background(), w.job("true", func(s *federation.Submission) { s.Job.Spec.GPUs, s.Job.Spec.GPUsPerNode = "3", "4" }))
		var said *federation.SlurmError
		if !errors.As(err, &said) || !errors.Is(err, federation.ErrInvalid) || said.Number != 2072 ||
			err.Error() != "Invalid generic resource (gres) specification: Failed to ensure --gpus >= --gres=gpu/--gpus-per-node >= --gpus-per-socket" {
			t.Errorf("%v (%+v)", err, said)
		}
	})
}
