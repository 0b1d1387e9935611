package replay

import (
	"container/heap"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/move"
	"fsub/federation/place"
)

// moving is how running jobs are moved that keep their checkpoints, to make room for gangs.
type moving struct {
	next time.Time
	left map[int]time.Duration // what is left to run of jobs that were moved, by their number
	runs map[federation.JobID]*federation.Job
	past map[federation.JobID]*decision.Moved
	now  time.Duration // until the gang that begins now has its nodes
	hour move.Bounds
}

const (
	// roomEach is how often a gang is looked for, as the daemon does.
	roomEach = 15 * time.Second
	// leaving is how long it takes until a job that was told to leave has done so.
	leaving = time.Minute
)

// makeRoom moves jobs for one gang, where that is worth it.
func (r *run) makeRoom() {
	m := &r.moving
	if !r.cfg.Moves.Looks(move.Gang) || len(r.wait) == 0 || r.now.Before(m.next) {
		return
	}
	m.next = r.now.Add(roomEach)
	for _, s := range r.fleet.changed(r.now) {
		r.world.SetSite(s)
	}
	r.world.SetTime(r.now)
	clear(r.starts)
	room := place.MakeRoom(r.world, place.RoomAsk{Rule: &r.cfg.Moves, Look: 64, Most: m.hour.Left(&r.cfg.Moves, r.now), May: r.mayMove})
	r.world.Reorder() // the next plan starts over, and tells what starts
	if room == nil {
		return
	}
	held := slices.Clone(r.starts[room.Decision.Job])
	grace := time.Duration(0)
	for i := range room.Decision.Preempt.Victims {
		v := &room.Decision.Preempt.Victims[i]
		grace = max(grace, v.Grace)
		r.leave(r.index[v.Job], v)
		m.hour.Note(r.now)
	}
	m.now = leaving + grace
	r.begin(&room.Decision, held)
	m.now = 0
	r.plan()
}

// mayMove is what a running job would lose by a move; nil: it stays.
func (r *run) mayMove(_ federation.SiteName, of *federation.Job) (*move.Run, *decision.Expected) {
	i, ok := r.index[of.ID]
	past := r.moving.past[of.ID]
	if !ok || !r.cfg.Moves.May(past, r.now) {
		return nil, nil
	}
	o, f := &r.res.Jobs[i], of.Spec.Fed
	run := &move.Run{Ran: max(r.now.Sub(of.Start), 0), Copied: -1, Checkpoint: f.Checkpoint}
	if hours := o.End.Sub(of.Start).Hours(); hours > 0 {
		run.Hour = o.Cost / decision.Dollars(hours)
	}
	if s := of.Spec.Signal; s != nil {
		run.Grace = s.Before
	}
	return run, move.Rest(r.know.expect(&r.cfg.Jobs[i]), run.Ran)
}

// leave ends a run and queues the job again, with what is left of it.
func (r *run) leave(i int, v *decision.Victim) {
	o, j := &r.res.Jobs[i], &r.cfg.Jobs[i]
	at := slices.IndexFunc(r.ends, func(e end) bool { return e.job == i })
	e := r.ends[at]
	heap.Remove(&r.ends, at)
	for _, s := range e.held {
		r.fleet.free(s, r.now)
	}
	r.live--
	began := r.moving.runs[j.ID].Start
	r.moving.left[i] = r.lasts(i) - max(r.now.Sub(began), 0) + v.Lost + leaving
	m := *v.Moved
	if past := r.moving.past[j.ID]; past != nil {
		m.Count = past.Count
	}
	m.Count++
	r.moving.past[j.ID] = &m
	delete(r.moving.runs, j.ID)
	delete(r.know.running, j.ID)
	o.Moves++
	r.res.Moves++
	r.res.LostGPUHours += (v.Lost + leaving).Hours() * float64(o.GPUs)
	r.wait[j.ID] = true
	r.waits(j.Job, 1)
	r.offer(i)
}

// lasts is how long a job is to run, or to run still.
func (r *run) lasts(i int) time.Duration {
	if left, moved := r.moving.left[i]; moved {
		return left
	}
	return r.cfg.Jobs[i].Run
}

// began notes what runs and may be moved.
func (r *run) began(j *federation.Job, at time.Time) {
	if r.cfg.Moves.Off() {
		return
	}
	c := *j
	c.State, c.Start = federation.Running, at
	r.moving.runs[j.ID] = &c
}
