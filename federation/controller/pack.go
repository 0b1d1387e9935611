package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/decision"
	"fsub/federation/pack"
	"fsub/federation/reasons"
)

// Several tasks of an array share one job at their site where the array asks for that (#FSUB --pack). Each task is still a job of its own, with an
// attempt that names the job at the site, the pack; the store knows packs by nothing else. Here a pack is a job like others: it is submitted, looked up, cancelled and
// lost as they are. What the site says of a pack tells nothing about a task: the script of the pack writes that into a file, from which each task's report is made
// (packresult.go).

// packed is what is known of a pack beyond what is known of any job.
type packed struct {
	job         *job   // the pack
	members     []*job // that have not ended, nor gone back to the queue, in order
	tasks, side int

	last *federation.SiteJob // what the site said last; nil: not yet that it has started
	lost string              // why the site's job is given up; "": it is not
	code federation.FailureCode

	orders  string // for its script, not sent yet
	sending bool
	told    map[*job]bool // those that it is told to end
	sendAt  time.Time     // not before

	idle time.Time // since when it has no task any more

	reading bool
	readAt  time.Time // not before
	failing time.Time // since when the file cannot be read; zero: it can
}

// over reports whether the site's job is over.
func (k *packed) over() bool { return k.lost != "" || k.last != nil && k.last.State.Ended() }

// isPack reports whether a key is that of a pack.
func isPack(key, name string) bool {
	rest, _ := federation.CutKey(key, name)
	_, rest, _ = strings.Cut(rest, ".")
	number, _, _ := strings.Cut(rest, ".")
	return number == "0"
}

// leave forgets a task.
func (k *packed) leave(m *job) {
	m.join().in = nil
	k.members = slices.DeleteFunc(k.members, func(other *job) bool { return other == m })
}

// packs are the packs.
type packs struct {
	federation string
	now        func() time.Time
	t          Timing
	log        *slog.Logger
	files      pack.Files // nil: nothing is packed
	stager     federation.Stager
	sites      *roster
	jobs       *jobTable
	batch      *pendingBatch
	agenda     *agenda
	calls      *calls
	arrays     *arrays
	life       *life
	reports    *reports
	asks       *asks
	attempts   *attempts
}

// Results of calls about packs.
type (
	packsRead struct {
		packs []federation.JobID
		texts [][]byte
		err   error
	}
	packTold struct {
		pack federation.JobID
		text string
		err  error
	}
)

// packSize is how many tasks of the array share a job, and how many of them run side by side.
func (j *job) packSize() (tasks, side int) {
	p := j.Spec.Packs()
	if p == nil {
		return 1, 1
	}
	side = p.SideBySide()
	if j.Whole != nil && j.Whole.Limit > 0 {
		side = min(side, j.Whole.Limit)
	}
	return p.Size, side
}

// packsAt reports whether tasks of an array share jobs at a site.
func (ps *packs) packsAt(j *job, name federation.SiteName) bool {
	n, _ := j.packSize()
	s := ps.sites.byName[name]
	return n > 1 && s != nil && ps.files != nil && !carries(ps.stager, s, &j.Job) && !j.unpacked[name]
}

// bind binds a task that was offered, and with it those that come after it, as a pack.
func (ps *packs) bind(o *offered, d decision.Decision) {
	array := o.array
	size, side := array.packSize()
	if limit := array.Whole.Limit; limit > 0 {
		side = min(side, limit-array.running())
	}
	indices := ps.shared(o, size)
	ids := make([]federation.JobID, 0, len(indices))
	for range indices {
		id, ok := ps.arrays.ids.take()
		if !ok {
			break
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		ps.arrays.ids.lack()
		return
	}
	p := newPack(array, o.task.ID, indices[0], len(ids), min(side, len(ids)))
	ps.jobs.packs[p.ID] = p
	for i, id := range ids {
		task := array.makeTaskJob(id, indices[i])
		m := ps.arrays.addPart(array, &task)
		m.join().in = p
		p.pack.members = append(p.pack.members, m)
	}
	ps.attempts.bind(p, d)
	for _, m := range p.pack.members {
		ps.join(p, m)
	}
}

// shared are the tasks that are bound with one that was offered: those after it that may start, up to the next one that was offered.
func (ps *packs) shared(o *offered, size int) (indices []int) {
	array, now := o.array, ps.now()
	end := -1
	for _, other := range array.offers {
		if i := other.task.Part.Index; i > o.task.Part.Index && (end < 0 || i < end) {
			end = i
		}
	}
	for i := range array.rest.From(o.task.Part.Index) {
		if len(indices) == size || end >= 0 && i >= end {
			break
		}
		if array.depends.taskReason(i, now) == "" {
			indices = append(indices, i)
		}
	}
	return indices
}

// newPack is a job that several tasks of an array share.
func newPack(array *job, id federation.JobID, index, tasks, side int) *job {
	p := newJob(array.makeTaskJob(id, index))
	p.Part, p.Attempt = nil, -1 // so that its attempt is number 0: see decision.Pack
	p.SetSpec(array.specOfTasks().OfPack(tasks, side))
	f := p.join()
	f.array, f.pack = array, &packed{job: p, tasks: tasks, side: side, told: map[*job]bool{}}
	return p
}

// join makes the attempt of a task whose pack was bound.
func (ps *packs) join(p, m *job) {
	a := p.att
	number := m.Attempt + 1
	d := decision.Decision{Job: m.ID, Bind: true, Claim: a.Decision.Claim, Pack: &decision.Pack{Job: p.ID, Key: a.Key, Tasks: p.pack.tasks, Side: p.pack.side}}
	if len(a.Decision.Offers) > 0 {
		d.Offers = a.Decision.Offers[:1]
	}
	m.try().att = &federation.Attempt{Job: m.ID, Number: number, Key: federation.AttemptKey(ps.federation, &m.Job, number), Site: a.Site, Partition: a.Partition,
		State: federation.AttemptIntended, Created: a.Created, Decision: d, Held: federation.Held{Account: a.Held.Account}}
	m.Attempt, m.Site, m.Partition, m.Reason = number, a.Site, a.Partition, reasons.Resources
	ps.batch.job(m)
	ps.batch.attempt(m.att)
}

// attachPacked gives a task of a pack its attempt back after a restart, and the pack with the first of its tasks.
func (ld *loader) attachPacked(m *job, a *federation.Attempt) {
	k := a.Decision.Pack
	p := ld.jobs.packs[k.Job]
	if m.array == nil {
		ld.log.Error("task of a pack whose array is not there", "job", m.ID, "attempt", a.Number)
		return
	}
	if p == nil {
		p = newPack(m.array, k.Job, m.Part.Index, k.Tasks, max(k.Side, 1))
		p.Attempt, p.Site, p.Partition = 0, a.Site, a.Partition
		p.try().att = &federation.Attempt{Job: p.ID, Number: 0, Key: k.Key, Site: a.Site, Partition: a.Partition, State: federation.AttemptSubmitted,
			Created: a.Created, Acked: a.Acked, SiteJobID: a.SiteJobID, SiteSubmit: a.SiteSubmit, Tries: 1, Decision: a.Decision, Held: federation.Held{Account: a.Held.Account}}
		p.att.Decision.Pack = nil
		if a.State == federation.AttemptIntended {
			p.att.State = a.State
			p.try().unsure = true
		}
		ld.jobs.packs[p.ID] = p
		ld.limits.reserve(p)
		if s := ld.sites.byName[a.Site]; s != nil {
			s.jobs[p.ID] = p
			ld.queue.claim(p)
		}
	}
	m.try().att = a
	m.join().in = p
	p.pack.members = append(p.pack.members, m)
}

// taken notes that the site has the pack.
func (k *packed) taken(b *pendingBatch) {
	a := k.job.att
	for _, m := range k.members {
		if m.att.State != federation.AttemptIntended {
			continue
		}
		m.att.SiteJobID, m.att.SiteSubmit = a.SiteJobID, a.SiteSubmit
		if m.att.Acked = a.Acked; m.att.Acked.IsZero() {
			m.att.Acked = b.now().UTC()
		}
		b.advance(m, federation.AttemptSubmitted)
	}
}

// packError is a pack that could not be made: its files cannot be written.
type packError struct{ err error }

func (e packError) Error() string { return e.err.Error() }
func (e packError) Unwrap() error { return e.err }

// pack is what a submission of p is made a pack with, as its tasks are now; nil: it is none.
func (d *delivery) pack(p *job) func(context.Context, *federation.Submission) error {
	if p.pack == nil {
		return nil
	}
	script := &pack.Pack{ID: p.ID, Spec: p.array.specOfTasks(), User: p.User, Side: p.pack.side}
	for _, m := range p.pack.members {
		script.Of = m.Part
		script.Tasks = append(script.Tasks, pack.Task{Index: m.Part.Index, ID: m.Number()})
	}
	owner := p.Job
	status, _ := pack.Names(owner.Spec.WorkDir, p.ID)
	return func(ctx context.Context, sub *federation.Submission) error {
		if err := d.files.Write(ctx, &owner, status, true, ""); err != nil {
			return packError{err}
		}
		sub.Payload.Script = script.Script(sub.Payload.Script)
		return nil
	}
}

// unpack has the tasks of an array that were to share a job at a site run there one by one.
func (l *life) unpack(p *job, why string) {
	array := p.array
	if !array.unpacked[p.att.Site] {
		known := maps.Clone(array.unpacked)
		if known == nil {
			known = map[federation.SiteName]bool{}
		}
		known[p.att.Site] = true
		array.join().unpacked = known
		l.batch.eventf(array, "its tasks do not share jobs at %s: %s", p.att.Site, why)
	}
	l.queue.look(array)
}

// reconcile tells scripts of packs what is asked of their tasks, and reads what they have written.
func (ps *packs) reconcile() {
	type reader struct {
		site *site
		uid  uint32
	}
	now := ps.now()
	due := map[reader][]*job{}
	var order []reader
	for _, id := range slices.Sorted(maps.Keys(ps.jobs.packs)) {
		p := ps.jobs.packs[id]
		s := ps.sites.byName[p.att.Site]
		if s == nil {
			continue
		}
		ps.endIdle(p, now)
		ps.order(s, p, now)
		if (p.pack.last != nil || p.pack.lost != "") && !p.pack.reading && !now.Before(p.pack.readAt) {
			k := reader{s, p.UID}
			if due[k] == nil {
				order = append(order, k)
			}
			due[k] = append(due[k], p)
		}
	}
	for _, k := range order {
		for some := range slices.Chunk(due[k], packsAtOnce) {
			ps.read(k.site, some)
		}
	}
}

// idleFor is how long a pack may take to end by itself when its tasks have.
const idleFor = 30 * time.Second

func (ps *packs) endIdle(p *job, now time.Time) {
	k := p.pack
	switch {
	case len(k.members) > 0 || k.over() || p.Cancel:
	case k.idle.IsZero():
		k.idle = now
	case now.Sub(k.idle) >= idleFor:
		p.Cancel = true
	}
}

const (
	packsAtOnce = 200             // status files that one call reads
	packsEvery  = 2 * time.Second // how often that of a pack that runs is read
)

func (ps *packs) read(s *site, some []*job) {
	kind := packsRead{}
	var names []string
	for _, p := range some {
		p.pack.reading = true
		status, _ := pack.Names(p.Spec.WorkDir, p.ID)
		kind.packs, names = append(kind.packs, p.ID), append(names, status)
	}
	owner := some[0].Job
	ps.calls.add(s, kind, func(ctx context.Context) any {
		r := kind
		r.texts, r.err = ps.files.Read(ctx, &owner, names)
		return r
	})
}

// order passes on which tasks are to end. When that are all, the site is asked to cancel the job.
func (ps *packs) order(s *site, p *job, now time.Time) {
	k := p.pack
	if k.over() {
		return
	}
	for _, m := range k.members {
		a := ps.asks.open[m.ID]
		if !k.told[m] && (m.Cancel || m.Held != federation.NotHeld && m.State == federation.Pending || a != nil && a.stop) {
			k.told[m] = true
			k.orders += pack.Kill(m.Part.Index)
		}
	}
	if !p.Cancel && len(k.members) > 0 && !slices.ContainsFunc(k.members, func(m *job) bool { return !k.told[m] }) {
		p.Cancel = true
		p.try().cancelAt = now
	}
	if k.orders == "" || k.sending || now.Before(k.sendAt) {
		return
	}
	kind, owner := packTold{pack: p.ID, text: k.orders}, p.Job
	k.orders, k.sending = "", true
	_, control := pack.Names(p.Spec.WorkDir, p.ID)
	ps.calls.add(s, kind, func(ctx context.Context) any {
		r := kind
		r.err = ps.files.Write(ctx, &owner, control, true, r.text)
		return r
	})
}

// takeTold takes in whether a script was told.
func (ps *packs) takeTold(s *site, r packTold) {
	p := ps.jobs.packs[r.pack]
	if p == nil {
		return
	}
	p.pack.sending = false
	if r.err != nil {
		p.pack.orders = r.text + p.pack.orders
		p.pack.sendAt = ps.now().Add(ps.t.CancelEach)
		ps.log.Warn("tell the script of a pack what to end", "job", p.ID, "site", s.Name, "err", r.err)
	}
}

// ofPack does what is asked of a task that shares a job with others.
func (ak *asks) ofPack(j *job, a *asked) {
	if a.Kind == action.Update || a.Kind == action.Move || suspends(a.Request) {
		ak.refuse(j, a, fmt.Errorf("%w: it shares job %s of %s with other tasks (--pack), which stay as they are: cancel or requeue it", federation.ErrConflict, j.in.ID, j.att.Site))
		return
	}
	a.stop, a.at = true, ak.now().Add(ak.t.CancelEach) // the script is told (packs.order)
}

// signalPacked has the script of a pack signal one task.
func (j *job) signalPacked(name string) {
	if name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) {
		j.in.pack.orders += pack.Signal(name, j.Part.Index)
	}
}

var errNoStatus = errors.New("the file in which it says how its tasks end is not there")
