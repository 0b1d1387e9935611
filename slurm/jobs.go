package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/slurm/wire"
)

// row is one line of /jobs/state/.
type row struct {
	id    int64  // the record's own number
	tasks string // task index, or "[2-5,7]"; "" outside of arrays
	state wire.Strings
}

// view is the controller's list of all its jobs in one response.
type view struct {
	rows    []row
	records []wire.Job // nil where only the rows were asked for
}

// Jobs reads /jobs/state/ (80 bytes a job) and asks for the details of those jobs whose rows are
// new or different. Where that path does not exist, the details of all jobs are read whenever one has changed.
func (d *Driver) Jobs(ctx context.Context, m federation.Mark) (federation.JobsReport, error) {
	old, told := m.(*mark)
	if !told {
		old = &mark{}
	}
	ctx = calling(ctx, forLooks)
	report := federation.JobsReport{At: d.c.now()}
	st, err := d.rights.standing(ctx)
	if err != nil {
		return report, err
	}
	v, old, err := d.lookAtJobs(ctx, st, old)
	if err != nil {
		return report, err
	}
	mine := group(v.rows, d.ours(old), old.owner)
	if alive, ok := m.(driver.Alive); ok && !st.mapped {
		old.pass(mine, alive)
	}
	changed := old.changed(mine)
	again := old.stale(mine, changed, report.At)
	for _, id := range d.lost.due(mine, func(id number) federation.JobID { return old.jobOf(st, id) }, report.At) {
		if !slices.Contains(changed, id) && !slices.Contains(again, id) {
			again = append(again, id)
		}
	}
	read, postponed := changed, []number(nil)
	if told { // with no mark all is told
		read, postponed = old.postpone(changed, mine, v.records != nil || d.queue.bulk.suits(len(changed), len(v.rows)))
	}
	old.lateFirst(read)
	read = append(read, again...)
	records, unread, err := d.details(ctx, read, v)
	if err != nil {
		return report, err
	}
	read = read[:len(read)-len(unread)]
	d.holders.noteRunning(st, read, records)
	next := old.clone()
	if next.learn(read, records) {
		mine = group(v.rows, d.ours(next), next.owner)
	}
	known := next.see(mine)
	for _, id := range read {
		if len(records[id]) == 0 { // gone between the two questions: the next report will not know it
			next.unsee(id)
			delete(known, id)
			continue
		}
		j := siteJob(d.nameOf(st, id, records[id]), id, records[id], pendingTasks(id, mine[id]))
		if !d.completeArray(ctx, st, next, &j) {
			next.unsee(id) // try again with the next report
		}
		if overtaken(mine[id], &j) {
			next.unsee(id)
		}
		if !d.addEarlier(ctx, next, &j) {
			next.unsee(id)
			if j.State.Ended() {
				continue
			}
		}
		if !st.mapped && j.ID != federation.JobID(id) {
			next.last[id] = j.ID
		}
		next.remember(&j)
		news := next.noteWaiting(&j, report.At)
		if told := next.noteEnd(&j); !told && (news || !slices.Contains(again, id)) {
			if !st.mapped {
				d.noteStranger(&j)
			}
			report.Changed = append(report.Changed, j)
		}
	}
	for _, id := range postponed {
		if next.putOff(id, old, mine[id], report.At) {
			report.Begun = append(report.Begun, next.jobOf(st, id))
		}
	}
	for _, id := range unread {
		if !slices.Contains(again, id) && next.leave(id, old, mine[id]) {
			report.Begun = append(report.Begun, next.jobOf(st, id))
		}
	}
	next.forget(known)
	report.Known, report.Keys = next.tellKnown(st, known)
	report.Mark = next
	return report, d.endTwins(ctx, &report, next)
}

// overtaken reports whether a job has started between the list and its details. If it goes back to
// the queue before the next look, as when a node refuses it, the next list is the same as this one;
// it must be reported again all the same.
func overtaken(rows []row, j *federation.SiteJob) bool {
	return len(rows) == 1 && state(rows[0].state) == federation.Pending && j.State != federation.Pending
}

// jobOf is the job that has a number.
func (m *mark) jobOf(st standing, id number) federation.JobID {
	if st.mapped {
		return m.named[id].job
	}
	return cmp.Or(m.last[id], federation.JobID(id))
}

// tellKnown turns numbers into jobs.
func (m *mark) tellKnown(st standing, known map[number]bool) (jobs map[federation.JobID]bool, keys map[string]bool) {
	jobs = map[federation.JobID]bool{}
	if !st.mapped {
		for n := range known {
			jobs[m.jobOf(st, n)] = true
		}
		return jobs, nil
	}
	keys = map[string]bool{}
	for n := range known {
		jobs[m.named[n].job] = true
		keys[m.named[n].key] = true
	}
	return jobs, keys
}

// readRow reads a line of /jobs/state/. That of a component of a heterogeneous job, which is looked at with its leader, "9+0", is none.
func readRow(j *wire.JobStateRow) (row, error) {
	id, tasks, _ := strings.Cut(string(j.JobID), "_")
	id, component, _ := strings.Cut(id, "+")
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || component != "" && component != "0" {
		return row{}, nil
	}
	return row{id: n, tasks: tasks, state: j.State}, nil
}

// group sorts the federation's rows by job.
func group(rows []row, ours func(number) bool, owner map[int64]number) map[number][]row {
	out := map[number][]row{}
	for _, r := range rows {
		if ours(number(r.id)) {
			out[number(r.id)] = append(out[number(r.id)], r)
		} else if id, ok := owner[r.id]; ok && r.tasks != "" {
			out[id] = append(out[id], r)
		}
	}
	return out
}

// fingerprint is a hash of a job's rows that does not depend on their order.
func fingerprint(rows []row) uint64 {
	sum := uint64(len(rows))
	for _, r := range rows {
		h := maphash.Comparable(listSeed, r.id) ^ maphash.String(listSeed, r.tasks)
		for _, s := range r.state {
			h = h*31 + maphash.String(listSeed, s)
		}
		sum += h
	}
	return sum
}

// pendingTasks lists the tasks of an array that have not started: those that have the array's own number and wait.
func pendingTasks(id number, rows []row) []int {
	var out []int
	for _, r := range rows {
		if r.id == int64(id) && r.tasks != "" && state(r.state) == federation.Pending {
			if n, err := strconv.Atoi(r.tasks); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// details asks for the records of jobs: one by one, or all at once where that is less work for the controller. Those at the end that half of ctx's time does not
// suffice for are left unread.
func (d *Driver) details(ctx context.Context, ids []number, v *view) (records map[number][]wire.Job, unread []number, err error) {
	out := map[number][]wire.Job{}
	if all := v.records; all != nil || d.queue.bulk.suits(len(ids), len(v.rows)) {
		if all == nil {
			var err error
			if all, err = d.queue.bulkOf(ctx, len(v.rows)); err != nil {
				return nil, nil, err
			}
		}
		wanted := map[int64]bool{}
		for _, id := range ids {
			wanted[int64(id)] = true
		}
		for _, j := range all {
			id := j.JobID
			if a := cmp.Or(j.ArrayJobID.Value(), j.HetJobID.Value()); a != 0 {
				id = a
			}
			if wanted[id] {
				out[number(id)] = append(out[number(id)], j)
			}
		}
		return out, nil, nil
	}
	var mu sync.Mutex
	until := half(ctx)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i, id := range ids {
		if i >= notEndedMost && time.Now().After(until) {
			unread = ids[i:]
			break
		}
		g.Go(func() error {
			records, err := d.queue.job(ctx, int64(id))
			if errors.Is(err, federation.ErrNotFound) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			out[id] = records
			return err
		})
	}
	return out, unread, g.Wait()
}

// never is later than any time.
var never = time.Unix(1<<40, 0)

// half is when half of the time that ctx has left will be over.
func half(ctx context.Context) time.Time {
	now := time.Now()
	end, ok := ctx.Deadline()
	if !ok {
		return never
	}
	return now.Add(end.Sub(now) / 2)
}

// completeArray fetches, for an array that is new to the mark, the tasks that left the controller's memory before we looked. It
// reports false if slurmdbd could not be asked.
func (d *Driver) completeArray(ctx context.Context, st standing, m *mark, j *federation.SiteJob) bool {
	if len(j.Tasks) == 0 || m.whole[number(j.SiteJobID)] {
		return true
	}
	past, err := d.records.pastTasks(ctx, st, j)
	if err != nil {
		return false
	}
	m.ended[number(j.SiteJobID)], m.whole[number(j.SiteJobID)] = past, true
	return true
}

// noteStranger warns of a job in the federated range that is not of this federation: two ranges overlap, or the site's own
// counter has reached ours.
func (d *Driver) noteStranger(j *federation.SiteJob) {
	if _, ours := federation.CutKey(j.Key, d.cfg.Federation); ours || d.cfg.Federation == "" {
		return
	}
	whose := "no federation"
	if j.Key != "" {
		whose = "another federation (" + j.Key + ")"
	}
	d.remarks.add(fmt.Sprintf("job %d of user %s is in the federated range and belongs to %s: the ranges of job IDs overlap", j.ID, j.User, whose))
}
