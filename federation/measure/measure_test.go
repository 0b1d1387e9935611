package measure_test

import (
	"context"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/journal"
	"fsub/federation/measure"
	"fsub/federation/store"
	"fsub/federation/usage"
	"fsub/sbatch"
)

// site knows of the jobs in ended, and notes what it was asked for.
type site struct {
	ended map[federation.JobID][]usage.Usage
	asked [][]federation.JobRef
	err   error
}

func (s *site) Measured(_ context.Context, refs []federation.JobRef) (map[federation.JobID][]usage.Usage, error) {
	s.asked = append(s.asked, refs)
	out := map[federation.JobID][]usage.Usage{}
	for _, r := range refs {
		if u, ok := s.ended[r.ID]; ok {
			out[r.ID] = u
		}
	}
	return out, s.err
}

type world struct {
	t     *testing.T
	store *store.Store
	alpha *site
	now   time.Time
	c     *measure.Collector
}

func newWorld(t *testing.T) *world {
	st, err := store.Open(t.Context(), store.Config{Path: t.TempDir() + "/fed.db", FirstID: 30000000, LastID: 30009999})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	w := &world{t: t, store: st, alpha: &site{ended: map[federation.JobID][]usage.Usage{}}, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	w.c = measure.New(measure.Config{Store: st, Site: func(name federation.SiteName) driver.Measurer {
		return map[federation.SiteName]driver.Measurer{"alpha": w.alpha}[name]
	},
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return w.now }})
	return w
}

// ended stores a job that has ended just now, after it ran at a site; one that never started if the site is "".
func (w *world) ended(at federation.SiteName) federation.JobID {
	j := federation.Job{User: "alice", State: federation.Pending, Spec: &sbatch.Spec{Name: "x"}}
	if err := w.store.CreateJob(w.t.Context(), &j, &sbatch.Payload{Script: "#!/bin/sh\n"}); err != nil {
		w.t.Fatal(err)
	}
	j.State, j.End = federation.Completed, w.now
	b := journal.Batch{Jobs: []*federation.Job{&j}}
	if at != "" {
		j.Site, j.Attempt, j.Start = at, 1, w.now.Add(-time.Minute)
		b.Attempts = []*federation.Attempt{{Job: j.ID, Number: 1, Key: "key" + j.ID.String(), Site: at, State: federation.AttemptEnded, SiteJobID: uint32(j.ID)}}
	}
	if err := w.store.Commit(w.t.Context(), &b); err != nil {
		w.t.Fatal(err)
	}
	return j.ID
}

func (w *world) round() {
	w.t.Helper()
	if err := w.c.Round(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) usage(id federation.JobID) []usage.Usage {
	all, err := w.store.UsageOf(w.t.Context(), []federation.JobID{id})
	if err != nil {
		w.t.Fatal(err)
	}
	return all[id]
}

// TestOnce: what a site measured is asked for once, by key, and comes back whole. A job that never ran is not asked for.
func TestOnce(t *testing.T) {
	w := newWorld(t)
	low := int64(0)
	id, _ := w.ended("alpha"), w.ended("")
	want := []usage.Usage{{Job: id, Index: -1, Flags: []string{"SchedMain"}, Total: 15 * time.Millisecond, Steps: []usage.Step{
		{ID: "0", Name: "true", State: federation.Completed, NumNodes: 1, Start: w.now, End: w.now, MinFreq: &low, Allocated: []usage.Amount{{Type: "cpu", Count: 2}},
			In: usage.Measured{Max: []usage.TaskAmount{{Amount: usage.Amount{Type: "fs", Name: "disk", Count: 7}, Task: 1, Node: "a1"}}}}}}}
	w.alpha.ended[id] = want
	w.round()
	w.round()
	if len(w.alpha.asked) != 1 || !reflect.DeepEqual(w.alpha.asked[0], []federation.JobRef{{ID: id, User: "alice", Number: id, Key: "key" + id.String(), SiteJobID: uint32(id)}}) {
		t.Errorf("asked %+v", w.alpha.asked)
	}
	if got := w.usage(id); !reflect.DeepEqual(got, want) {
		t.Errorf("stored %+v, want %+v", got, want)
	}
}

// TestLate: while the accounting lags, or does not answer, the job is asked for less and less often; after an hour no more.
func TestLate(t *testing.T) {
	w := newWorld(t)
	id := w.ended("alpha")
	w.alpha.err = federation.ErrUnavailable
	for range 720 { // an hour
		w.round()
		w.now = w.now.Add(5 * time.Second)
	}
	if n := len(w.alpha.asked); n < 8 || n > 30 {
		t.Errorf("asked %d times in an hour", n)
	}
	if w.usage(id) != nil {
		t.Error("something was stored of a job that was not measured")
	}
	w.now = w.now.Add(10 * time.Minute)
	w.round()
	before := len(w.alpha.asked)
	w.alpha.ended[id] = []usage.Usage{{Index: -1}}
	w.now = w.now.Add(10 * time.Minute)
	w.round()
	if len(w.alpha.asked) != before || len(w.usage(id)) != 1 {
		t.Errorf("asked again after it was given up: %d, %d", len(w.alpha.asked), before)
	}
}

// TestOtherSite: a site that cannot measure keeps nobody waiting.
func TestOtherSite(t *testing.T) {
	w := newWorld(t)
	w.ended("beta")
	id := w.ended("alpha")
	w.alpha.ended[id] = []usage.Usage{{Index: -1, Total: time.Second}}
	w.round()
	if got := w.usage(id); len(got) != 1 || got[0].Total != time.Second {
		t.Errorf("%+v", got)
	}
}
