package slurm

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// A mapped site gives jobs numbers of its own, and a controller that is killed hard may give a number that it has acknowledged to
// another job. So a job is its key, which travels in a field of its record that can be searched: the driver keeps no table, it asks.

// name is what a job is called here.
type name struct {
	job federation.JobID
	key string
}

// keyed puts the key of a submission to a mapped site into the job's record: for its wckey, or where that is the user's or the site's own
// business, at the end of its comment.
func (at *site) keyed(st standing, s federation.Submission) federation.Submission {
	job := *s.Job
	job.EditSpec(func(sp *sbatch.Spec) {
		if m := sp.More; st.wckey && (m == nil || m.WCKey == "") {
			more := sbatch.More{}
			if m != nil {
				more = *m
			}
			more.WCKey = s.Key
			sp.More = &more
		} else {
			sp.Comment = strings.TrimSpace(sp.Comment + " " + s.Key)
		}
	})
	s.Job = &job
	return s
}

// ours tells which numbers are those of jobs of the federation, by what a mark knows.
func (at *site) ours(m *mark) func(number) bool {
	if m.named == nil {
		return func(n number) bool { return at.cfg.ours(int64(n)) }
	}
	return func(n number) bool { _, ok := m.named[n]; return ok }
}

// nameOf gives the name of the job of some records. Where the site is pinned its number is the ID, but for the last task of an array: that is in the key.
func (at *site) nameOf(st standing, id number, records []wire.Job) name {
	if !st.mapped {
		head := &records[0]
		for i := range records {
			if records[i].JobID == int64(id) {
				head = &records[i]
			}
		}
		return at.pinnedName(head, federation.JobID(id))
	}
	for i := range records {
		if n, ok := at.nameIn(&records[i]); ok {
			return n
		}
	}
	return name{}
}

// pinnedName is the name of a record's job at a pinned site, where it has the number.
func (at *site) pinnedName(r *wire.Job, number federation.JobID) name {
	key := keyOf(r.AdminComment)
	if n, ours := at.parseKey(key); ours && r.HetJobID.Value() == 0 { // components of a heterogeneous job have the key of the first
		return n
	}
	return name{number, key}
}

// nameIn reads the name from a record.
func (at *site) nameIn(r *wire.Job) (name, bool) {
	return at.parseKey(r.AdminComment, r.WCKey, r.Comment)
}

// parseKey finds a key of this federation in any of the texts.
func (at *site) parseKey(texts ...string) (name, bool) {
	for _, text := range texts {
		key := keyOf(text)
		rest, ok := federation.CutKey(key, at.cfg.Federation)
		if !ok {
			continue
		}
		id, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.ParseUint(id, 10, 32); err == nil {
			return name{federation.JobID(n), key}, true
		}
	}
	return name{}, false
}

// lookAtJobs reads the state of all jobs, and finds out which of those that the mark does not know are ours. It returns the mark to go by:
// a new one if the controller has started again.
func (d *Driver) lookAtJobs(ctx context.Context, st standing, old *mark) (*view, *mark, error) {
	if !st.mapped {
		rows, err := d.queue.states(ctx, "")
		return &view{rows: rows}, old, err
	}
	stats, err := d.diag(ctx)
	if err != nil {
		return nil, nil, err
	}
	if boot := stats.ReqTimeStart.Value(); old.boot != boot {
		old = &mark{boot: boot}
	}
	v, err := d.queue.viewJobs(ctx, &stats)
	if err != nil {
		return nil, nil, err
	}
	old = old.again(v.rows)
	var ask []int64
	for _, r := range v.rows {
		if _, ours := old.named[number(r.id)]; !ours && old.owner[r.id] == 0 && !old.strange[r.id] {
			ask = append(ask, r.id)
		}
	}
	records := v.records
	if records == nil && len(ask) > 0 {
		if records, _, err = d.queue.runningRecords(ctx, unique(ask), len(v.rows), never); err != nil {
			return nil, nil, err
		}
	}
	for i := range records {
		d.sortIn(old, &records[i])
	}
	return v, old, nil
}

// sortIn notes whether a record is that of a job of ours.
func (d *Driver) sortIn(m *mark, r *wire.Job) {
	n, ours := d.nameIn(r)
	head := number(cmp.Or(r.ArrayJobID.Value(), r.JobID))
	switch {
	case !ours:
		m.strange[r.JobID] = true
	case head != number(r.JobID):
		m.owner[r.JobID] = head
		m.named[head] = n
	default:
		m.named[head] = n
	}
}

// viewJobs reads the rows, or all records where there are no rows. stats were read just before.
func (q *queue) viewJobs(ctx context.Context, stats *wire.Diag) (*view, error) {
	tr, err := q.c.negotiated(ctx)
	if err != nil {
		return nil, err
	}
	if !tr.old {
		rows, err := q.states(ctx, "")
		return &view{rows: rows}, err
	}
	records, err := q.recentJobs(ctx, stats)
	if err != nil {
		return nil, err
	}
	return &view{rows: rowsOf(records), records: records}, nil
}

// endTwins cancels the second copy of an attempt, should one have arrived late: one that was given up and that its site took after all, or that another daemon sent. The
// first counts; what has started of the others is lost, as the job is to run once.
func (d *Driver) endTwins(ctx context.Context, r *federation.JobsReport, m *mark) error {
	first := map[string]number{}
	for n, who := range m.named {
		if f, twice := first[who.key]; !twice || n < f {
			first[who.key] = n
		}
	}
	if len(first) == len(m.named) {
		return nil
	}
	kept := r.Changed[:0]
	for _, j := range r.Changed {
		n := number(j.SiteJobID)
		if f := first[j.Key]; j.Key == "" || f == n {
			kept = append(kept, j)
			continue
		}
		if j.State.Ended() {
			continue
		}
		if errs := d.kill(d.c.inNameOf(ctx, j.User), "cancel", wire.KillJobs{Jobs: []string{strconv.FormatInt(int64(n), 10)}}); len(errs) > 0 {
			return errors.Join(errs...)
		}
		d.log.Warn("cancelled the second copy of a job", "job", j.ID, "key", j.Key, "number", n, "state", j.State, "first", first[j.Key])
		r.Late = append(r.Late, j)
	}
	r.Changed = kept
	return nil
}

func unique(list []int64) []int64 {
	seen := map[int64]bool{}
	out := list[:0]
	for _, n := range list {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

// lookAtNodes reads what Observe needs of the jobs.
func (h *holders) lookAtNodes(ctx context.Context, st standing) (*view, error) {
	if !st.mapped {
		rows, err := h.queue.states(ctx, "")
		return &view{rows: rows}, err
	}
	stats, err := h.diag(ctx)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	if boot := stats.ReqTimeStart.Value(); h.boot != boot { // its numbers may be others' now
		h.boot, h.running, h.waiting = boot, nil, nil
	}
	h.mu.Unlock()
	return h.queue.viewJobs(ctx, &stats)
}
