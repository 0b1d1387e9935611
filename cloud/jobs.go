package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"fsub/cloud/records"
	"fsub/federation"
	"fsub/federation/reasons"
)

// jobTable is the jobs that the site has taken, and in which order they have changed.
type jobTable struct {
	*base
	pools    *pools
	byID     map[federation.JobID]*job
	newest   *job // of the list by rev
	rev      uint64
	known    map[federation.JobID]bool // of byID; nil: to be made anew. Shared, so never changed
	over     []*job                    // ended and in memory, the first to end first
	payloads int                       // bytes of payloads in memory
}

func newJobTable(b *base, p *pools) *jobTable {
	return &jobTable{base: b, pools: p, byID: map[federation.JobID]*job{}}
}

// take adds a job that the site takes. Its script leaves memory when it is in the store, if there are many.
func (js *jobTable) take(j *job) {
	j.table = js
	js.byID[j.id()], js.known = j, nil
	js.payloads += len(j.payload)
	js.put(j)
	js.after(func() {
		if js.payloads > maxPayloads && j.run == nil && j.payload != nil {
			js.payloads -= len(j.payload)
			j.payload = nil
		}
	})
}

// end notes that a job has ended.
func (js *jobTable) end(j *job) {
	js.payloads -= len(j.payload)
	if j.written {
		j.payload = nil
	}
	js.over = append(js.over, j)
	js.put(j)
}

// load adds a job of the records, in place of an older attempt.
func (js *jobTable) load(j *job) {
	if old := js.byID[j.id()]; old != nil {
		js.forget(old)
		js.over = slices.DeleteFunc(js.over, func(e *job) bool { return e == old })
	}
	j.table = js
	js.byID[j.id()], js.known = j, nil
	js.publish(j)
	if !j.End.IsZero() {
		i, _ := slices.BinarySearchFunc(js.over, j, func(a, b *job) int { return a.End.Compare(b.End) })
		js.over = slices.Insert(js.over, i, j)
	}
}

// tidy forgets jobs that have ended long ago.
func (js *jobTable) tidy(now time.Time) {
	for len(js.over) > 0 && now.Sub(js.over[0].End) > js.t.Keep && js.over[0].written {
		js.forget(js.over[0])
		js.over = js.over[1:]
	}
}

// changed is what has changed since a mark, the newest first.
func (js *jobTable) changed(since uint64) federation.JobsReport {
	r := federation.JobsReport{At: js.now(), Mark: js.rev}
	for j := js.newest; j != nil && j.rev > since; j = j.older {
		r.Changed = append(r.Changed, j.shown)
	}
	if js.known == nil {
		js.known = make(map[federation.JobID]bool, len(js.byID))
		for id := range js.byID {
			js.known[id] = true
		}
	}
	r.Known = js.known
	return r
}

// Written implements [records.Witness]: a job is shown as it is in the records.
func (j *job) Written() {
	j.written = true
	j.table.publish(j)
}

// publish shows a job as it is in the records.
func (js *jobTable) publish(j *job) {
	if js.byID[j.id()] != j {
		return // forgotten, or replaced by a newer attempt
	}
	js.rev++
	j.rev, j.shown = js.rev, js.siteJob(&j.jobRecord)
	js.unlink(j)
	j.older = js.newest
	if js.newest != nil {
		js.newest.newer = j
	}
	js.newest = j
	js.news.jobs()
}

func (js *jobTable) unlink(j *job) {
	if js.newest == j {
		js.newest = j.older
	}
	if j.older != nil {
		j.older.newer = j.newer
	}
	if j.newer != nil {
		j.newer.older = j.older
	}
	j.newer, j.older = nil, nil
}

// forget drops a job that has ended from memory.
func (js *jobTable) forget(j *job) {
	js.unlink(j)
	if js.byID[j.id()] == j {
		delete(js.byID, j.id())
		js.known = nil
	}
}

// siteJob is what others see of a job.
func (js *jobTable) siteJob(j *jobRecord) federation.SiteJob {
	s := federation.SiteJob{ID: j.Job.ID, SiteJobID: uint32(j.Job.Number()), Key: j.Key, State: j.State, User: j.User.Name, Account: j.Job.Spec.Account,
		Partition: j.Partition, QOS: j.Job.Spec.QOS, Reason: j.Reason, Detail: j.Detail, Returned: j.Returned, Submit: j.Accepted,
		Start: j.Start, End: j.End, Suspension: j.Suspension, ExitStatus: j.Exit, Restarts: j.Restarts, Earlier: j.Earlier, Limit: j.Job.Spec.TimeLimit, Losses: j.Losses}
	if p := js.pools.named(j.Partition); p != nil {
		s.Limit = (&job{jobRecord: *j}).limit(p)
	}
	if r := j.Run; r != nil && !j.Start.IsZero() {
		part := r.part(0)
		s.Nodes, s.TRES, s.PricePerHour = part.Nodes, part.TRES, r.Price
		part.count(&s)
		if r.Spent > 0 && !j.End.IsZero() {
			s.Cost = r.spent(j.Start, j.End)
		}
		s.Components = components(j, &s)
	}
	if s.Reason == "" {
		s.Reason = reasons.None
	}
	return s
}

// count adds up what a part of a run holds.
func (p *part) count(s *federation.SiteJob) {
	s.NumNodes, s.CPUs, s.GPUs, s.GPUType = p.NumNodes, p.CPUs, p.GPUs, p.GPUType
}

// components are the further components of a heterogeneous job: what each holds, in the state of their leader.
func components(j *jobRecord, leader *federation.SiteJob) []federation.SiteJob {
	var list []federation.SiteJob
	for g := 1; g < len(j.Wants); g++ {
		c := *leader
		c.ID, c.SiteJobID = j.Job.ID+federation.JobID(g), uint32(j.Job.ID)+uint32(g)
		c.Partition, c.PricePerHour, c.Components = j.Wants[g].Partition, 0, nil
		held := j.Run.part(g)
		c.Nodes, c.TRES = held.Nodes, held.TRES
		held.count(&c)
		list = append(list, c)
	}
	return list
}

// Jobs implements federation.Driver. A mark is the number of the last change that was told.
func (d *Driver) Jobs(ctx context.Context, mark federation.Mark) (federation.JobsReport, error) {
	if err := d.isLoaded(ctx); err != nil {
		return federation.JobsReport{}, err
	}
	since, _ := mark.(uint64)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.jobs.changed(since), nil
}

// Lookup implements federation.Driver.
func (d *Driver) Lookup(ctx context.Context, ref federation.JobRef) (federation.SiteJob, error) {
	if err := d.isLoaded(ctx); err != nil {
		return federation.SiteJob{}, err
	}
	d.mu.Lock()
	j := d.jobs.byID[ref.ID]
	if j != nil && j.rev > 0 && (ref.Key == "" || j.Key == ref.Key) {
		defer d.mu.Unlock()
		return j.shown, nil
	}
	d.mu.Unlock()
	r, err := d.jobs.recorded(ctx, ref)
	if err != nil {
		return federation.SiteJob{}, err
	}
	s := d.jobs.siteJob(r)
	s.FromAccounting = true
	return s, nil
}

// recorded reads the record of a job that has left memory.
func (js *jobTable) recorded(ctx context.Context, ref federation.JobRef) (*jobRecord, error) {
	records, err := js.cfg.Store.PoolRecords(ctx, js.cfg.Site, records.PoolJob, ref.ID)
	if err != nil {
		return nil, fmt.Errorf("look up job %d: %w: %w", ref.ID, err, federation.ErrUnavailable)
	}
	for i := len(records) - 1; i >= 0; i-- {
		if ref.Key != "" && records[i].ID != ref.Key {
			continue
		}
		var r jobRecord
		if err := json.Unmarshal(records[i].Data, &r); err != nil {
			return nil, fmt.Errorf("the record of job %d: %w: %w", ref.ID, err, federation.ErrUnavailable)
		}
		return &r, nil
	}
	return nil, notHere(ref)
}
