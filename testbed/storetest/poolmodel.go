package storetest

import (
	"errors"
	"os"
	"slices"

	"pgregory.net/rapid"

	"fsub/cloud/records"
	"fsub/federation"
)

// poolModel is a pool's books without a database: records in the order of their first writing, with their payloads.
type poolModel struct {
	records []records.PoolRecord
	numbers map[records.PoolKind]int64
}

func (m *poolModel) put(r records.PoolRecord) {
	i := slices.IndexFunc(m.records, func(o records.PoolRecord) bool { return o.Site == r.Site && o.Kind == r.Kind && o.ID == r.ID })
	if i < 0 {
		i = len(m.records)
		m.records = append(m.records, records.PoolRecord{})
	}
	switch {
	case !r.Closed.IsZero():
		r.Payload = nil
	case r.Payload == nil:
		r.Payload = m.records[i].Payload
	}
	m.records[i] = r
}

// list returns the records that are wanted, without payloads.
func (m *poolModel) list(want func(*records.PoolRecord) bool) []records.PoolRecord {
	var all []records.PoolRecord
	for _, r := range m.records {
		if want(&r) {
			r.Payload = nil
			all = append(all, r)
		}
	}
	return all
}

// poolMachine is a store beside its model.
type poolMachine struct {
	machine
	pool  records.PoolStore
	model *poolModel
}

var (
	anyKind = rapid.SampledFrom([]records.PoolKind{records.PoolJob, records.PoolGang, records.PoolMachine})
	anyPool = rapid.SampledFrom([]federation.SiteName{"local", "aws"})
	anyID   = rapid.SampledFrom([]string{"a", "b", "ü\n", "0"})
)

// testPoolModel does random things to a store and to the model.
func testPoolModel(e *env) {
	rapid.Check(e.T, func(t *rapid.T) {
		dir, err := os.MkdirTemp(e.TempDir(), "")
		e.must(err)
		m := &poolMachine{machine: machine{dir: dir, suite: e.suite}, model: &poolModel{numbers: make(map[records.PoolKind]int64)}}
		m.open(t)
		defer func() { m.store.Close() }()
		t.Repeat(map[string]func(*rapid.T){"put": m.put, "number": m.number, "reopen": m.open, "purge": m.purge, "": m.check})
	})
}

func (m *poolMachine) open(t *rapid.T) {
	m.reopen(t)
	m.pool = m.store
}

func (m *poolMachine) put(t *rapid.T) {
	site := anyPool.Draw(t, "site")
	var all []records.PoolRecord
	for range rapid.IntRange(0, 4).Draw(t, "records") {
		r := records.PoolRecord{
			Site: site, Kind: anyKind.Draw(t, "kind"), ID: anyID.Draw(t, "id"), Job: federation.JobID(anyNumber.Draw(t, "job")),
			Closed: anyTime.Draw(t, "closed"), Data: []byte(anyText.Draw(t, "data")),
		}
		if rapid.Bool().Draw(t, "with payload") {
			r.Payload = []byte(anyText.Draw(t, "payload"))
		}
		all = append(all, r)
	}
	if err := m.pool.CommitPool(ctx, site, all); err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		m.model.put(r)
	}
}

func (m *poolMachine) number(t *rapid.T) {
	kind := anyKind.Draw(t, "kind")
	n, err := m.pool.NextPoolNumber(ctx, "local", kind)
	if err != nil || n <= m.model.numbers[kind] {
		t.Fatalf("number %d of a %s after %d: %v", n, kind, m.model.numbers[kind], err)
	}
	m.model.numbers[kind] = n
}

func (m *poolMachine) purge(t *rapid.T) {
	before := anyTime.Draw(t, "before")
	if _, err := m.store.Purge(ctx, before); err != nil {
		t.Fatal(err)
	}
	m.model.records = slices.DeleteFunc(m.model.records, func(r records.PoolRecord) bool {
		return r.Kind != records.PoolMachine && !r.Closed.IsZero() && r.Closed.Before(before)
	})
}

func (m *poolMachine) check(t *rapid.T) {
	since, kind := anyTime.Draw(t, "since"), anyKind.Draw(t, "of kind")
	recent := func(r *records.PoolRecord) bool { return r.Closed.IsZero() || !r.Closed.Before(since) }
	for _, site := range []federation.SiteName{"local", "aws"} {
		got, err := m.pool.LoadPool(ctx, site, since)
		m.same(t, "records", got, m.model.list(func(r *records.PoolRecord) bool { return r.Site == site && recent(r) }), err)
		for job := range federation.JobID(4) {
			got, err := m.pool.PoolRecords(ctx, site, kind, job)
			m.same(t, "records of a job", got, m.model.list(func(r *records.PoolRecord) bool {
				return r.Site == site && r.Kind == kind && r.Job == job
			}), err)
		}
	}
	limit := rapid.IntRange(0, 5).Draw(t, "limit")
	got, err := m.pool.PoolHistory(ctx, "", kind, since, limit)
	want := m.model.list(func(r *records.PoolRecord) bool { return r.Kind == kind && recent(r) })
	slices.Reverse(want)
	m.same(t, "history", got, want[:min(limit, len(want))], err)
	for _, r := range m.model.records {
		payload, err := m.pool.PoolPayload(ctx, r.Site, r.Kind, r.ID)
		if (r.Payload == nil) != errors.Is(err, federation.ErrNotFound) || string(payload) != string(r.Payload) {
			t.Fatalf("payload of %s %s of %s is %q, want %q: %v", r.Kind, r.ID, r.Site, payload, r.Payload, err)
		}
	}
}
