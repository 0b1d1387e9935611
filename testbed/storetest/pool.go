package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/journal"
	"fsub/sbatch"
)

func record(kind records.PoolKind, id string, job federation.JobID) records.PoolRecord {
	return records.PoolRecord{Site: "local", Kind: kind, ID: id, Job: job, Data: []byte(fmt.Sprintf(`{"id": %q}`, id))}
}

func recordIDs(all []records.PoolRecord) []string {
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID)
	}
	return ids
}

// poolIs compares all that a site has with want. Payloads are left out of a list.
func poolIs(e *env, p records.PoolStore, site federation.SiteName, want ...records.PoolRecord) {
	e.Helper()
	got, err := p.LoadPool(ctx, site, time.Time{})
	e.must(err)
	want = slices.Clone(want)
	for i := range want {
		want[i].Payload = nil
	}
	e.same("records of "+string(site), got, want)
}

func testPoolFields(e *env) {
	s := e.open()
	var want []records.PoolRecord
	for i := range 3 {
		want = append(want, filled[records.PoolRecord](i))
		want[i].Site, want[i].Data = "local", []byte{'{', 0, 0xff, '}', byte(i)}
	}
	want[1].Closed = time.Time{}
	e.must(s.CommitPool(ctx, "local", want))
	poolIs(e, s, "local", want...)
	e.must(s.Close())
	s = e.open()
	poolIs(e, s, "local", want...)
}

// testPoolOver writes over what is there: the order stays that of the first writing, and what is named twice is as named last.
func testPoolOver(e *env) {
	p := e.open()
	a, b, c := record(records.PoolJob, "a", 1), record(records.PoolGang, "b", 1), record(records.PoolMachine, "c", 1)
	e.must(p.CommitPool(ctx, "local", []records.PoolRecord{a, b, c}))
	a.Job, a.Data, a.Closed = 2, []byte(`{"n": 1}`), longAgo
	first := a
	first.Data = []byte("first")
	d := record(records.PoolMachine, "d", 0)
	e.must(p.CommitPool(ctx, "local", []records.PoolRecord{first, d, a}))
	poolIs(e, p, "local", a, b, c, d)
	a.Closed = time.Time{} // and open again
	e.must(p.CommitPool(ctx, "local", []records.PoolRecord{a}))
	poolIs(e, p, "local", a, b, c, d)
}

// testPoolNames: a record is known by its site, kind and ID together.
func testPoolNames(e *env) {
	p := e.open()
	for _, site := range []federation.SiteName{"local", "aws"} {
		for _, kind := range []records.PoolKind{records.PoolJob, records.PoolGang, records.PoolMachine} {
			payload := []byte(string(site) + string(kind))
			e.must(p.CommitPool(ctx, site, []records.PoolRecord{{Kind: kind, ID: "same", Job: 7, Data: payload, Payload: payload}}))
		}
	}
	for _, site := range []federation.SiteName{"local", "aws"} {
		all, err := p.LoadPool(ctx, site, time.Time{})
		e.must(err)
		if len(all) != 3 {
			e.Fatalf("%d records of %s, want 3", len(all), site)
		}
		for _, r := range all {
			payload, err := p.PoolPayload(ctx, site, r.Kind, r.ID)
			e.must(err)
			if want := string(site) + string(r.Kind); r.Site != site || string(r.Data) != want || string(payload) != want {
				e.Fatalf("%s %s of %s holds %q and %q", r.Kind, r.ID, r.Site, r.Data, payload)
			}
		}
	}
	poolIs(e, p, "gcp")
}

func testPoolWhole(e *env) {
	p := e.open()
	old := record(records.PoolJob, "old", 1)
	old.Payload = []byte("payload")
	e.must(p.CommitPool(ctx, "local", []records.PoolRecord{old}))
	changed := old
	changed.Data, changed.Closed = []byte("changed"), longAgo
	for name, bad := range map[string]records.PoolRecord{
		"no ID":          {Kind: records.PoolJob},
		"no kind":        {ID: "x"},
		"another site's": {Site: "aws", Kind: records.PoolJob, ID: "x"},
	} {
		err := p.CommitPool(ctx, "local", []records.PoolRecord{changed, record(records.PoolGang, "new", 1), bad})
		if !errors.Is(err, federation.ErrInvalid) {
			e.Fatalf("%s: error is %v", name, err)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := p.CommitPool(gone, "local", []records.PoolRecord{changed}); !errors.Is(err, context.Canceled) {
		e.Fatalf("with a cancelled context: %v", err)
	}
	if n, err := p.NextPoolNumber(gone, "local", records.PoolMachine); !errors.Is(err, context.Canceled) {
		e.Fatalf("number %d with a cancelled context: %v", n, err)
	}
	poolIs(e, p, "local", old)
	payload, err := p.PoolPayload(ctx, "local", records.PoolJob, "old")
	e.must(err)
	e.same("payload", string(payload), "payload")
}

// testPoolLoad: what is open, and what was closed lately.
func testPoolLoad(e *env) {
	p := e.open()
	var all []records.PoolRecord
	for i, closed := range []time.Time{longAgo.Add(-time.Nanosecond), {}, longAgo.Add(time.Hour), longAgo, {}} {
		r := record(records.PoolJob, fmt.Sprint(i), federation.JobID(i))
		r.Closed = closed
		all = append(all, r)
	}
	e.must(p.CommitPool(ctx, "local", all))
	for since, want := range map[time.Time][]string{
		longAgo: {"1", "2", "3", "4"}, longAgo.Add(time.Nanosecond): {"1", "2", "4"}, longAgo.Add(2 * time.Hour): {"1", "4"}, {}: {"0", "1", "2", "3", "4"},
	} {
		got, err := p.LoadPool(ctx, "local", since)
		e.must(err)
		e.same(fmt.Sprint("closed since ", since), recordIDs(got), want)
	}
}

func testPoolOfJob(e *env) {
	p := e.open()
	var all []records.PoolRecord
	for i := range 12 {
		r := record([]records.PoolKind{records.PoolMachine, records.PoolGang}[i/6], fmt.Sprint(i), federation.JobID(i%3))
		if i%2 == 0 {
			r.Closed = longAgo
		}
		all = append(all, r)
	}
	e.must(p.CommitPool(ctx, "local", all))
	other := record(records.PoolMachine, "other", 1)
	other.Site = "aws"
	e.must(p.CommitPool(ctx, "aws", []records.PoolRecord{other}))
	for job, want := range map[federation.JobID][]string{0: {"0", "3"}, 1: {"1", "4"}, 9: nil} {
		got, err := p.PoolRecords(ctx, "local", records.PoolMachine, job)
		e.must(err)
		e.same(fmt.Sprint("machines of job ", job), recordIDs(got), want)
	}
	all[4].Job = 9 // moves to another job
	e.must(p.CommitPool(ctx, "local", all[4:5]))
	got, err := p.PoolRecords(ctx, "local", records.PoolMachine, 9)
	e.must(err)
	e.same("machines of job 9", got, all[4:5])
}

// testPoolPayload: it is written once, left as it is, and dropped when its record is closed.
func testPoolPayload(e *env) {
	s := e.open()
	is := func(want []byte) {
		e.Helper()
		got, err := s.PoolPayload(ctx, "local", records.PoolJob, "a")
		if want == nil {
			e.wants(err, federation.ErrNotFound)
			return
		}
		e.must(err)
		if !bytes.Equal(got, want) {
			e.Fatalf("payload of %d bytes, want %d bytes", len(got), len(want))
		}
	}
	is(nil)
	r := record(records.PoolJob, "a", 1)
	put := func(payload []byte, closed time.Time) {
		e.Helper()
		r.Payload, r.Closed = payload, closed
		e.must(s.CommitPool(ctx, "local", []records.PoolRecord{r}))
	}
	put(nil, time.Time{})
	is(nil)
	large := bytes.Repeat([]byte{0, 1, 0xff, '\n'}, 1<<18)
	put(large, time.Time{})
	is(large)
	put(nil, time.Time{})
	is(large)
	put([]byte("other"), time.Time{})
	is([]byte("other"))
	put([]byte{}, time.Time{})
	is([]byte{})
	put([]byte("closed with it"), longAgo)
	is(nil)
	put(nil, time.Time{})
	is(nil)
	put([]byte("again"), time.Time{})
	e.must(s.Close())
	s = e.open()
	is([]byte("again"))
	put(nil, longAgo)
	is(nil)
}

func testPoolHistory(e *env) {
	p := e.open()
	for i, site := range []federation.SiteName{"local", "aws", "local", "aws", "local"} {
		r := record(records.PoolMachine, fmt.Sprint(i), 0)
		r.Site = site
		if i < 4 {
			r.Closed = longAgo.Add(-time.Duration(i) * time.Hour) // the later ones ended earlier
		}
		e.must(p.CommitPool(ctx, site, []records.PoolRecord{r, {Kind: records.PoolGang, ID: r.ID}}))
	}
	for _, c := range []struct {
		site  federation.SiteName
		since time.Time
		limit int
		want  []string
	}{
		{"", time.Time{}, 10, []string{"4", "3", "2", "1", "0"}},
		{"", time.Time{}, 2, []string{"4", "3"}},
		{"", longAgo.Add(-time.Hour), 10, []string{"4", "1", "0"}},
		{"aws", time.Time{}, 10, []string{"3", "1"}},
		{"local", longAgo.Add(time.Nanosecond), 10, []string{"4"}},
		{"local", time.Time{}, 0, nil},
		{"gcp", time.Time{}, 10, nil},
	} {
		got, err := p.PoolHistory(ctx, c.site, records.PoolMachine, c.since, c.limit)
		e.must(err)
		e.same(fmt.Sprintf("history %+v", c), recordIDs(got), c.want)
	}
}

func testPoolNumbers(e *env) {
	s := e.open()
	var mu sync.Mutex
	given := make(map[string]bool)
	take := func(site federation.SiteName, kind records.PoolKind) int64 {
		n, err := s.NextPoolNumber(ctx, site, kind)
		name := fmt.Sprint(site, kind, n)
		mu.Lock()
		defer mu.Unlock()
		if err != nil || given[name] || n < 1 {
			e.Errorf("number %s: given before: %v: %v", name, given[name], err)
		}
		given[name] = true
		return n
	}
	if n := take("local", records.PoolMachine); n != 1 {
		e.Fatalf("the first number is %d", n)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				take("local", records.PoolMachine)
			}
		})
	}
	all.Wait()
	for _, kind := range []records.PoolKind{records.PoolGang, records.PoolJob} {
		if n := take("local", kind); n != 1 {
			e.Fatalf("the first number of a %s is %d", kind, n)
		}
	}
	take("aws", records.PoolMachine)
	e.must(s.Close())
	s = e.open()
	take("local", records.PoolMachine)
	take("aws", records.PoolMachine)
}

// testPoolPurge: what is closed goes, but for machines, and for what an attempt that has not ended still needs.
func testPoolPurge(e *env) {
	s := e.open()
	ended, live := e.create(s, "alice", ""), e.create(s, "alice", "")
	e.must(s.Commit(ctx, &journal.Batch{Attempts: []*federation.Attempt{
		attempt(ended, 1, federation.AttemptEnded), attempt(live, 1, federation.AttemptStarted),
	}}))
	end(e, s, ended.ID)
	var all []records.PoolRecord
	for _, kind := range []records.PoolKind{records.PoolJob, records.PoolGang, records.PoolMachine} {
		for _, j := range []*federation.Job{ended, live} {
			for n, closed := range []time.Time{longAgo, longAgo.Add(time.Hour), {}} {
				r := record(kind, fmt.Sprint(j.ID, ".", n), j.ID)
				if n == 0 && kind == records.PoolJob {
					r.ID = attempt(j, 1, "").Key
				}
				r.Closed = closed
				all = append(all, r)
			}
		}
	}
	for i := range 700 { // more than one transaction deletes
		r := record(records.PoolJob, fmt.Sprint("many", i), 1)
		r.Closed = longAgo
		all = append(all, r)
	}
	e.must(s.CommitPool(ctx, "local", all))
	purge(e, s, 1)
	want := slices.DeleteFunc(all, func(r records.PoolRecord) bool {
		return r.Closed.Equal(longAgo) && r.Kind != records.PoolMachine && r.ID != attempt(live, 1, "").Key
	})
	poolIs(e, s, "local", want...)
}

// testPoolConcurrent commits pairs from many callers while others read: a pair is seen whole, and nobody's failure is another's.
func testPoolConcurrent(e *env) {
	s := e.open()
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if all, err := s.LoadPool(ctx, "local", time.Time{}); err != nil || len(all)%2 != 0 {
					e.Errorf("%d records of pairs: %v", len(all), err)
					return
				}
			}
		})
	}
	for w := range 32 {
		writers.Go(func() {
			for i := range 20 {
				id := fmt.Sprint(w, ".", i)
				pair := []records.PoolRecord{record(records.PoolGang, id, 1), record(records.PoolMachine, id, 1)}
				pair[0].Payload = []byte(id)
				if err := s.CommitPool(ctx, "local", pair); err != nil {
					e.Error(err)
				}
				if err := s.Commit(ctx, &journal.Batch{Events: []federation.Event{{Job: 1}}}); !errors.Is(err, federation.ErrNotFound) {
					e.Errorf("event of no job: %v", err)
				}
				if err := s.CreateJob(ctx, &federation.Job{}, &sbatch.Payload{}); err != nil {
					e.Error(err)
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	all, err := s.LoadPool(ctx, "local", longAgo)
	e.must(err)
	if len(all) != 32*20*2 {
		e.Fatalf("%d records, want %d", len(all), 32*20*2)
	}
}
