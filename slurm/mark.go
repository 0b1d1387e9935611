package slurm

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/driver"
	"fsub/federation/reasons"
	"fsub/slurm/wire"
)

// number is the number of a job at its site, for the tasks of an array that of the array. Where the site is pinned it is the federated ID.
type number int64

// mark is what a caller of Jobs has seen. It is immutable: every report makes a new one.
type mark struct {
	// boot is when the controller began to count, at a mapped site: one that has started again may have given our jobs' numbers to others.
	boot int64
	// named are the jobs that are ours at a mapped site, strange the records that are not, by their details.
	named   map[number]name
	strange map[int64]bool

	// last are the jobs of a pinned site whose ID is not their number there, by their details: last tasks of arrays.
	last map[number]federation.JobID

	seen map[number]uint64 // hash of the job's rows in /jobs/state/
	// owner tells which array a task of another number belongs to: the rows of /jobs/state/ ("17_3") do not.
	owner map[int64]number
	// ended are the tasks that have left the controller's memory while their array has not.
	ended map[number]map[int]federation.SiteTask
	// ends are the reported ends, by a hash of everything reported. Details are younger than the
	// list that led to them: the list changes once more when a job that was reported as ended
	// leaves COMPLETING.
	ends map[number]uint64
	// waiting are the jobs that were PENDING: why they wait changes without a change of state.
	waiting map[number]waiting
	// whole are the arrays whose ended tasks are all in ended. The others are looked up at slurmdbd.
	whole map[number]bool
	// late are the jobs whose details were left to a later look, and how often.
	late map[number]int
	runs overlooked
}

// clone makes the next mark of m, with nothing seen yet.
func (m *mark) clone() *mark {
	return &mark{boot: m.boot, named: maps.Clone(m.named), strange: m.strange, last: copied(m.last), seen: map[number]uint64{}, owner: copied(m.owner), ended: copied(m.ended), ends: copied(m.ends), waiting: copied(m.waiting), whole: copied(m.whole), late: map[number]int{}, runs: m.runs.clone()}
}

// again is m with room for what is learned of the rows of a mapped site. Of strange records only those that are still there are kept.
func (m *mark) again(rows []row) *mark {
	next := *m
	next.named, next.owner, next.strange = copied(m.named), copied(m.owner), map[int64]bool{}
	for _, r := range rows {
		if m.strange[r.id] {
			next.strange[r.id] = true
		}
	}
	return &next
}

// changed lists the jobs whose rows are not those of the mark.
func (m *mark) changed(mine map[number][]row) []number {
	var out []number
	for id, r := range mine {
		if h, ok := m.seen[id]; !ok || h != fingerprint(r) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// see notes the rows and returns the jobs that have some.
func (m *mark) see(mine map[number][]row) map[number]bool {
	known := map[number]bool{}
	for id, r := range mine {
		known[id] = true
		m.seen[id] = fingerprint(r)
	}
	return known
}

// pass notes the jobs that have ended and are not alive to the caller as told: a controller that takes thousands of short jobs remembers thousands of them, and a
// daemon that starts has recorded their ends.
func (m *mark) pass(mine map[number][]row, alive driver.Alive) {
	m.seen = map[number]uint64{}
	for id, rows := range mine {
		if !alive[federation.JobID(id)] && !slices.ContainsFunc(rows, func(r row) bool { return !state(r.state).Ended() }) {
			m.seen[id] = fingerprint(rows)
		}
	}
}

// unsee makes the next report tell the job again.
func (m *mark) unsee(id number) { delete(m.seen, id) }

// copied is a copy that may be written to.
func copied[K comparable, V any](m map[K]V) map[K]V {
	c := maps.Clone(m)
	if c == nil {
		c = map[K]V{}
	}
	return c
}

type waiting struct {
	reason   reasons.Reason
	restarts int // a start that failed between two looks shows only here
	read     time.Time
}

// A job that waits is asked about again when what we know of it is so old, a few with each report.
const (
	waitingAge  = 30 * time.Second
	waitingMost = 5
)

// learn notes which tasks belong to the arrays that were looked at, and reports whether any do, or did.
func (m *mark) learn(ids []number, records map[number][]wire.Job) bool {
	had := len(m.owner) > 0
	looked := map[number]bool{}
	for _, id := range ids {
		looked[id] = true
	}
	maps.DeleteFunc(m.owner, func(_ int64, id number) bool { return looked[id] })
	for id, rs := range records {
		for _, r := range rs {
			if r.JobID != int64(id) && r.ArrayTaskID.Set {
				m.owner[r.JobID] = id
			}
		}
	}
	return had || len(m.owner) > 0
}

// remember adds to an array the tasks that have ended and left the controller's memory, and keeps those that have ended.
func (m *mark) remember(j *federation.SiteJob) {
	if len(j.Tasks) == 0 {
		return
	}
	addTasks(j, m.ended[number(j.SiteJobID)])
	m.ended[number(j.SiteJobID)] = endedTasks(j.Tasks)
}

func endedTasks(tasks []federation.SiteTask) map[int]federation.SiteTask {
	out := map[int]federation.SiteTask{}
	for _, t := range tasks {
		if t.State.Ended() {
			out[t.Index] = t
		}
	}
	return out
}

// stale picks the jobs whose reason for waiting should be read again: those that were read longest ago.
func (m *mark) stale(mine map[number][]row, changed []number, now time.Time) []number {
	var out []number
	for id, w := range m.waiting {
		if mine[id] != nil && now.Sub(w.read) >= waitingAge && !slices.Contains(changed, id) {
			out = append(out, id)
		}
	}
	slices.SortFunc(out, func(a, b number) int {
		return cmp.Or(m.waiting[a].read.Compare(m.waiting[b].read), cmp.Compare(a, b))
	})
	return out[:min(len(out), waitingMost)]
}

// noteWaiting keeps why a job waits, and reports whether that or its state is new.
func (m *mark) noteWaiting(j *federation.SiteJob, now time.Time) bool {
	was, waited := m.waiting[number(j.SiteJobID)]
	if j.State != federation.Pending {
		delete(m.waiting, number(j.SiteJobID))
		return true
	}
	m.waiting[number(j.SiteJobID)] = waiting{reason: j.Reason, restarts: j.Restarts, read: now}
	return !waited || was.reason != j.Reason || was.restarts != j.Restarts
}

// noteEnd records a job's reported end, and reports whether the same end was reported before.
func (m *mark) noteEnd(j *federation.SiteJob) (told bool) {
	if !j.State.Ended() {
		delete(m.ends, number(j.SiteJobID))
		return false
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%+v", *j)
	was, ok := m.ends[number(j.SiteJobID)]
	m.ends[number(j.SiteJobID)] = h.Sum64()
	return ok && was == h.Sum64()
}

// forget drops what belongs to jobs that the controller no longer holds.
func (m *mark) forget(known map[number]bool) {
	maps.DeleteFunc(m.owner, func(_ int64, id number) bool { return !known[id] })
	maps.DeleteFunc(m.named, func(id number, _ name) bool { return !known[id] })
	maps.DeleteFunc(m.last, func(id number, _ federation.JobID) bool { return !known[id] })
	maps.DeleteFunc(m.ends, func(id number, _ uint64) bool { return !known[id] })
	maps.DeleteFunc(m.waiting, func(id number, _ waiting) bool { return !known[id] })
	maps.DeleteFunc(m.whole, func(id number, _ bool) bool { return !known[id] })
	maps.DeleteFunc(m.runs.known, func(id number, _ int) bool { return !known[id] })
	maps.DeleteFunc(m.runs.tries, func(id number, _ int) bool { return !known[id] })
	maps.DeleteFunc(m.ended, func(id number, _ map[int]federation.SiteTask) bool { return !known[id] })
}
