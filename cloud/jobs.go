package cloud

import (
	"context"
	"encoding/json"
	"fmt"

	"fsub/federation"
)

// publish shows a job as it is in the books.
func (d *Driver) publish(j *job) {
	if d.jobs[j.id()] != j {
		return // forgotten, or replaced by a newer attempt
	}
	d.rev++
	j.rev, j.shown = d.rev, d.siteJob(&j.jobRecord)
	d.unlink(j)
	j.older = d.newest
	if d.newest != nil {
		d.newest.newer = j
	}
	d.newest = j
	d.news.jobs()
}

func (d *Driver) unlink(j *job) {
	if d.newest == j {
		d.newest = j.older
	}
	if j.older != nil {
		j.older.newer = j.newer
	}
	if j.newer != nil {
		j.newer.older = j.older
	}
	j.newer, j.older = nil, nil
}

// forgetJob drops a job that has ended from memory.
func (d *Driver) forgetJob(j *job) {
	d.unlink(j)
	if d.jobs[j.id()] == j {
		delete(d.jobs, j.id())
		d.known = nil
	}
}

// siteJob is what others see of a job.
func (d *Driver) siteJob(j *jobRecord) federation.SiteJob {
	s := federation.SiteJob{ID: j.Job.ID, SiteJobID: uint32(j.Job.ID), Key: j.Key, State: j.State, User: j.User.Name, Account: j.Job.Spec.Account,
		Partition: j.Partition, QOS: j.Job.Spec.QOS, Reason: j.Reason, Detail: j.Detail, Returned: j.Returned, Submit: j.Accepted, Eligible: j.Accepted,
		Start: j.Start, End: j.End, Suspension: j.Suspension, ExitStatus: j.Exit, Restarts: j.Restarts, Earlier: j.Earlier, Priority: j.Job.Priority, Limit: j.Job.Spec.TimeLimit}
	if j.Job.Spec.Begin.After(j.Accepted) {
		s.Eligible = j.Job.Spec.Begin
	}
	if p := d.pool(j.Partition); p != nil {
		s.Limit = (&job{jobRecord: *j}).limit(p)
	}
	if r := j.Run; r != nil && !j.Start.IsZero() {
		part := r.part(0)
		s.Nodes, s.TRES, s.PricePerHour = part.Nodes, part.TRES, r.Price
		part.count(&s)
		s.Components = components(j, &s)
	}
	if s.Reason == "" {
		s.Reason = federation.ReasonNone
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
	r := federation.JobsReport{At: d.now(), Mark: d.rev}
	for j := d.newest; j != nil && j.rev > since; j = j.older {
		r.Changed = append(r.Changed, j.shown)
	}
	if d.known == nil {
		d.known = make(map[federation.JobID]bool, len(d.jobs))
		for id := range d.jobs {
			d.known[id] = true
		}
	}
	r.Known = d.known
	return r, nil
}

// Lookup implements federation.Driver.
func (d *Driver) Lookup(ctx context.Context, ref federation.JobRef) (federation.SiteJob, error) {
	if err := d.isLoaded(ctx); err != nil {
		return federation.SiteJob{}, err
	}
	d.mu.Lock()
	j := d.jobs[ref.ID]
	if j != nil && j.rev > 0 && (ref.Key == "" || j.Key == ref.Key) {
		defer d.mu.Unlock()
		return j.shown, nil
	}
	d.mu.Unlock()
	r, err := d.inBooks(ctx, ref)
	if err != nil {
		return federation.SiteJob{}, err
	}
	s := d.siteJob(r)
	s.FromAccounting = true
	return s, nil
}

// inBooks reads the record of a job that has left memory.
func (d *Driver) inBooks(ctx context.Context, ref federation.JobRef) (*jobRecord, error) {
	records, err := d.cfg.Store.PoolRecords(ctx, d.cfg.Site, federation.PoolJob, ref.ID)
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
