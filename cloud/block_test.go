package cloud_test

import (
	"testing"
	"time"

	"fsub/cloud/cloudtest"
	"fsub/cloud/provider"
	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// TestBlock: machines that are paid for already are taken before others, by jobs that will have ended when they go; idle ones are ended then, and a job that still runs is preempted.
func TestBlock(t *testing.T) {
	bubble(t, func(w *world) {
		block, on := offer("small/block/cr-1", 0), offer("small/on-demand", 1)
		block.Market, block.Reservation, block.Max, block.Until = provider.Block, "cr-1", 2, time.Now().Add(6*time.Hour)
		w.cloud.Offers = []provider.Offering{on, block}
		w.cfg.Pools[0].Idle = 20 * time.Hour
		w.ready()
		asks := func(limit time.Duration, offering string) func(*federation.Submission) {
			return func(s *federation.Submission) {
				s.Job.Spec.TimeLimit, s.Offer.Offering = limit, offering
			}
		}
		paid := func(j federation.SiteJob) bool { return j.PricePerHour == 0 }
		if j := w.wants(w.submit("sleep 1", asks(5*time.Hour, "")), federation.Completed, time.Minute); !paid(j) {
			t.Errorf("a job of 5 hours is on %s at $%v", j.Nodes, j.PricePerHour)
		}
		for _, limit := range []time.Duration{7 * time.Hour, sbatch.Unlimited} {
			if j := w.wants(w.submit("sleep 1", asks(limit, "")), federation.Completed, time.Minute); paid(j) {
				t.Errorf("a job of %s is on %s, which goes in less than 6 hours", limit, j.Nodes)
			}
			if j := w.wants(w.submit("sleep 1", asks(limit, block.ID)), federation.BootFail, time.Minute); !j.Returned || j.Reason != reasons.ReqNodeNotAvail {
				t.Errorf("%+v", j)
			}
		}
		third := w.wants(w.submit("sleep 1", func(s *federation.Submission) { nodes(3)(s); asks(time.Hour, "")(s) }), federation.Completed, time.Minute)
		if paid(third) {
			t.Errorf("three machines of a block of two: %+v", third)
		}
		o, err := w.driver.Observe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range o.Nodes {
			if want := n.Rented.Offering == block.ID; n.Rented.Until.Equal(block.Until) != want {
				t.Errorf("%s of %s is there until %s", n.Name, n.Rented.Offering, n.Rented.Until)
			}
		}
		time.Sleep(5 * time.Hour)
		if j := w.wants(w.submit("sleep 1", asks(2*time.Hour, "")), federation.Completed, time.Minute); paid(j) {
			t.Errorf("a job of 2 hours is on %s, which goes in one", j.Nodes)
		}
		runs := w.submit("sleep 2900", asks(50*time.Minute, ""))
		if j := w.wants(runs, federation.Running, time.Minute); !paid(j) {
			t.Errorf("%+v", j)
		}
		time.Sleep(time.Until(block.Until) - time.Minute)
		if j := w.wants(w.submit("sleep 1", asks(5*time.Second, "")), federation.Completed, time.Minute); !paid(j) {
			t.Errorf("%+v", j)
		}
		w.wants(runs, federation.Completed, time.Minute)
		time.Sleep(2 * time.Minute)
		for _, m := range w.cloud.Living() {
			if m.Offering == block.ID {
				t.Errorf("%+v lives on after its time", m)
			}
		}
		if j := w.wants(w.submit("sleep 1", asks(5*time.Second, "")), federation.Completed, time.Minute); paid(j) {
			t.Errorf("%+v", j)
		}
	})
}

// TestBlockTaken: a job that is on a machine of a block at its end, which came sooner than was said, is preempted, and not failed.
func TestBlockTaken(t *testing.T) {
	bubble(t, func(w *world) {
		block := offer("small/block/cr-1", 0)
		block.Market, block.Until = provider.Block, time.Now().Add(4*time.Hour)
		w.cloud.Offers = []provider.Offering{block}
		w.ready()
		id := w.submit("sleep 10000", limited(3*time.Hour))
		w.wants(id, federation.Running, time.Minute)
		block.Until = time.Now().Add(time.Hour)
		w.cloud.Change(func(p *cloudtest.Provider) { p.Offers = []provider.Offering{block} })
		time.Sleep(61 * time.Minute)
		if j := w.lookup(id); j.State != federation.Running {
			t.Fatalf("what runs goes on until the cloud takes it: %+v", j)
		}
		w.cloud.Kill(w.cloud.Living()[0].ID, "Server.InternalError")
		w.wants(id, federation.Preempted, 2*time.Minute)
	})
}
