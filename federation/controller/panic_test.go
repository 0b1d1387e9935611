package controller

import (
	"bytes"
	"context"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/journal"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// log has what the controller logs from here on collected.
func (b *bench) log() *bytes.Buffer {
	log := new(bytes.Buffer)
	b.out.Writer = log
	return log
}

// gone is the ID of a job that was purged.
func (b *bench) gone() federation.JobID {
	b.t.Helper()
	id := b.submit(nil)
	b.rounds(2)
	b.cheap.start(id)
	b.cheap.end(id, federation.Completed)
	b.rounds(6)
	b.want(id, federation.Completed, "", "cheap")
	delete(b.cheap.jobs, id)
	if n, err := b.store.Purge(b.t.Context(), b.clock.Add(time.Hour)); err != nil || n == 0 {
		b.t.Fatal(n, err)
	}
	return id
}

// What can never be written, of each kind, stops nothing else: it is dropped, and the log has it.
func TestPoisonedRecordsAreDropped(t *testing.T) {
	nan := decision.Decision{Offers: []*decision.Offer{{Run: 1, Total: decision.Dollars(math.NaN())}}}
	for name, poison := range map[string]func(gone federation.JobID, p *journal.Batch){
		"event": func(id federation.JobID, p *journal.Batch) { p.Events = []federation.Event{{Job: id, Text: "late"}} },
		"record": func(id federation.JobID, p *journal.Batch) {
			p.Jobs = []*federation.Job{{ID: id, Spec: new(sbatch.Spec)}}
		},
		"spec": func(id federation.JobID, p *journal.Batch) {
			p.Specs = []*federation.Job{{ID: id, Spec: new(sbatch.Spec)}}
		},
		"attempt": func(id federation.JobID, p *journal.Batch) {
			p.Attempts = []*federation.Attempt{{Job: id, Number: 9, Key: "k"}}
		},
		"value": func(id federation.JobID, p *journal.Batch) {
			p.Attempts = []*federation.Attempt{{Job: id, Number: 9, Key: "k", Decision: nan}}
		},
		"task": func(id federation.JobID, p *journal.Batch) { p.Tasks = []*federation.Task{{Job: id, Index: 1}} },
		"request": func(id federation.JobID, p *journal.Batch) {
			p.Requests = []action.Request{{Job: id, Kind: action.Hold}}
		},
		"creation": func(_ federation.JobID, p *journal.Batch) {
			p.Create = []*federation.Job{{ID: federation.FirstJobID + 1, Spec: new(sbatch.Spec)}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			gone := b.gone()
			other := b.submit(nil) // has the ID that the creation wants
			if name == "creation" {
				b.rounds(5)
				b.ctl.jobs.Delete(other)
			}
			var p journal.Batch
			poison(gone, &p)
			if b.store.Commit(t.Context(), &p) == nil {
				t.Fatal("the store takes it: it is no poison")
			}
			log := b.log()
			for range 4 { // among others, wherever it stands
				b.ctl.batch.event(federation.Event{Job: other, Text: "before"})
			}
			into := &b.ctl.batch.rows
			into.Events, into.Jobs, into.Specs, into.Attempts = append(into.Events, p.Events...), append(into.Jobs, p.Jobs...), append(into.Specs, p.Specs...), append(into.Attempts, p.Attempts...)
			into.Tasks, into.Requests, into.Create = append(into.Tasks, p.Tasks...), append(into.Requests, p.Requests...), append(into.Create, p.Create...)
			good := b.submit(nil)
			b.rounds(3)
			b.want(good, federation.Pending, "", "cheap")
			if n := testutil.ToFloat64(b.ctl.metrics.dropped); n != 1 || strings.Count(log.String(), "records dropped") != 1 {
				t.Errorf("%v dropped, want 1:\n%s", n, log)
			}
		})
	}
}

// An orphan's event comes after its job was purged.
func TestOrphanOfAPurgedJob(t *testing.T) {
	b := newBench(t)
	gone := b.gone()
	b.ctl.orphans.note(b.ctl.sites.byName["cheap"], acted{job: gone, orphan: 1})
	good := b.submit(nil)
	b.rounds(3)
	b.want(good, federation.Pending, "", "cheap")
}

// No field of a batch is forgotten when it is taken apart.
func TestUnitsHoldTheWholeBatch(t *testing.T) {
	b := new(journal.Batch)
	v := reflect.ValueOf(b).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		one := reflect.New(f.Type().Elem()).Elem()
		if one.Kind() == reflect.Pointer {
			one.Set(reflect.New(one.Type().Elem()))
		}
		f.Set(reflect.Append(f, one))
	}
	same := func(id federation.JobID) federation.JobID { return id }
	if got := together(unitsOf(b, same, func(int64) federation.JobID { return 0 })); !reflect.DeepEqual(got, b) {
		t.Errorf("got %+v\nwant %+v", got, b)
	}
}

// poisonStore cannot write a job's records, as if they broke a rule of the schema.
type poisonStore struct {
	Store
	job federation.JobID
}

func (s *poisonStore) Commit(ctx context.Context, b *journal.Batch) error {
	for _, j := range b.Jobs {
		if j.ID == s.job {
			return federation.ErrInvalid
		}
	}
	return s.Store.Commit(ctx, b)
}

// A live job whose records cannot be written is put aside: it is sent nowhere, others are, and later it is tried again.
func TestLiveJobThatCannotBeWritten(t *testing.T) {
	b := newBench(t)
	log := b.log()
	good, bad := b.submit(nil), b.submit(nil)
	poison := &poisonStore{b.store, bad}
	b.with(func(c *Config) { c.Store = poison })
	b.wait(time.Minute)
	b.want(good, federation.Pending, "", "cheap")
	b.want(bad, federation.Pending, "", "")
	if b.cheap.jobs[bad] != nil || b.dear.jobs[bad] != nil {
		t.Error("it was sent to a site before its intent was durable")
	}
	events, err := b.store.Events(t.Context(), bad)
	if err != nil || len(events) != 1 || !strings.Contains(events[0].Text, "put aside") {
		t.Errorf("the job's history is %v (%v), want that it is put aside, once", events, err)
	}
	if n := strings.Count(log.String(), "job put aside"); n != 1 {
		t.Errorf("said %d times, want once:\n%s", n, log)
	}
	b.request(action.Request{Job: bad, Kind: action.Hold, UID: 7001}) // waits with it
	poison.job = 0
	b.wait(asideFor)
	b.want(bad, federation.Pending, reasons.HeldUser, "")
	b.request(action.Request{Job: bad, Kind: action.Release, UID: 7001})
	b.rounds(5)
	b.want(bad, federation.Pending, "", "cheap")
	if b.cheap.submits != 2 || len(b.attempts(good)) != 1 {
		t.Errorf("%d submissions, attempts %v; want one of each job", b.cheap.submits, b.attempts(good))
	}
}

// A panic over a job in a round: the stack is told, the job is put aside, what runs goes on, and nothing is done twice.
func TestPanicInARoundPutsTheJobAside(t *testing.T) {
	b := newBench(t)
	log := b.log()
	runs, bad := b.submit(nil), b.submit(nil)
	b.rounds(4)
	b.cheap.start(runs)
	b.cheap.start(bad)
	b.rounds(2)
	b.ctl.reports.rules = nil // as a defect would leave it: the end of a job panics
	b.cheap.end(bad, federation.Completed)
	good := b.submit(nil)
	b.wait(time.Minute)
	b.want(good, federation.Pending, "", "cheap")
	b.want(runs, federation.Running, "", "cheap")
	b.want(bad, federation.Running, "", "cheap")
	for _, want := range []string{"the controller panicked", "stack=", "job put aside"} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("the log does not say %q once:\n%s", want, log)
		}
	}
	b.wait(asideFor)
	b.want(bad, federation.Completed, "", "cheap")
	if b.cheap.submits != 3 || len(b.cheap.cancelled) > 0 {
		t.Errorf("%d submissions, cancelled %v", b.cheap.submits, b.cheap.cancelled)
	}
}

// Panics that come again and again, or over nothing that is known, end the daemon.
func TestTooManyPanicsStop(t *testing.T) {
	b := newBench(t)
	b.ctl.order = nil
	b.rounds(2)
	if b.ctl.failed != nil || b.ctl.order == nil {
		t.Fatalf("after one panic: %v", b.ctl.failed)
	}
	b.rounds(3)
	b.ctl.order = nil
	done := make(chan error, 1)
	go func() { done <- b.ctl.Run(t.Context()) }()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "panic") {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the controller does not stop")
	}
}

// A panic over a site leaves it alone for a while.
func TestPanicOverASiteInARound(t *testing.T) {
	b := newBench(t)
	b.ctl.watch.reports = panicReports{b.ctl.watch.reports}
	b.wait(10 * time.Second)
	id := b.submit(nil)
	b.rounds(5)
	b.want(id, federation.Pending, "", "dear")
	if s := b.ctl.sites.byName["cheap"]; s.Answering || !strings.Contains(s.Error, "planted") {
		t.Errorf("cheap answers: %v, %q", s.Answering, s.Error)
	}
	b.wait(asideFor)
	if s := b.ctl.sites.byName["cheap"]; !s.Answering {
		t.Errorf("cheap does not answer after %v: %s", asideFor, s.Error)
	}
}

type panicReports struct{ siteReports }

func (p panicReports) findMissing(s *site, r federation.JobsReport) {
	if s.Name == "cheap" {
		panic("planted")
	}
	p.siteReports.findMissing(s, r)
}
