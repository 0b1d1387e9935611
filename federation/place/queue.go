package place

import (
	"cmp"
	"math"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/jobmap"
)

// queued is a job in the queue. There may be a million: it is kept small.
type queued struct {
	job        *federation.Job
	turn       turn
	*userGroup       // stranger: not known yet
	fate       *fate // by the plan run, or one that has decided about its chunk as a whole: see World.decided
	run        int32 // -1: none was about it yet, or it has left the queue
	told       word  // the reason that Decide has said; 0: none
	refused    bool  // see plan.refused
	spent      bool  // see Waiting.Spent
	claim      int16 // see guarantees.claimOf
	group      int32 // see Order
	expected   *decision.Expected
}

// word is the number of a reason in a World, so that a job need not hold the word itself. 0: none, or not known.
type word uint16

// number returns the number of a word; 0 if the World has seen too many.
func (pl *plan) number(s string) word {
	n, ok := pl.words[s]
	if !ok && len(pl.words) < math.MaxUint16 {
		n = word(len(pl.words) + 1)
		pl.words[s] = n
	}
	return n
}

// turn is a job's place in the queue: as jobQueue.turn tells it among all, else among those of its group.
type turn struct {
	priority int64
	place    federation.JobID
	index    int32 // its low bits; the others: how far it was put before all others, see guarantees.look
}

func (a turn) compare(b turn) int {
	return cmp.Or(cmp.Compare(b.index>>indexBits, a.index>>indexBits), cmp.Compare(b.priority, a.priority), cmp.Compare(a.place, b.place), cmp.Compare(a.index, b.index))
}

// indexBits is more than federation.MaxArrayIndex needs.
const indexBits = 24

// own is the turn of a job that was not put before others.
func (a turn) own() turn {
	a.index &= 1<<indexBits - 1
	return a
}

// Waiting is a job of the federation's queue that may be bound now.
type Waiting struct {
	Job *federation.Job // it is not changed without SetJob being called again
	// Refused are the sites that have refused it, and why: they are not asked again.
	Refused map[federation.SiteName]decision.Rejection
	// Place is the job in whose place it stands among those of its priority, as a task of an array stands in the array's; 0: its own.
	Place federation.JobID
	// Spent: others have made room for it lately, and do not once more.
	Spent bool
	// Expected is how long it is expected to run; nil: a share of its time limit counts.
	Expected *decision.Expected
}

// SetJob tells of a job in the queue that is new or has changed.
func (w *World) SetJob(j Waiting) {
	old := w.index.of(j.Job.ID)
	q := &queued{job: j.Job, userGroup: stranger, run: -1, refused: len(j.Refused) > 0, spent: j.Spent, expected: j.Expected, claim: w.guarantees.claimOf(j.Job)}
	q.group, q.turn = w.groups.rank(&j)
	w.at.job = j.Job
	if old != nil && !w.outdated() && old.turn.own() == q.turn && old.group == q.group && old.claim == q.claim && !old.refused && !q.refused && old.spent == q.spent && old.userGroup != stranger && (old.job.Part == nil) == (j.Job.Part == nil) &&
		w.userGroupOf(j.Job, j.Expected, nil) == old.userGroup {
		old.job, old.expected = j.Job, j.Expected
		w.progress.tellAgain(old)
		return
	}
	w.DropJob(j.Job.ID)
	w.index.jobs.Set(j.Job.ID, q)
	if q.refused {
		w.refused[j.Job.ID] = j.Refused
	}
	w.queue.add(q)
	w.guarantees.add(q)
	// One with a claim may go before others, wherever it stands, or they find that it waits for them.
	w.progress.stale = w.pressed.shifted(w.queue.n) || w.progress.stale || q.claim != 0
	w.progress.add(q)
}

// DropJob tells that a job is not in the queue any more, whether it was bound, cancelled or held.
func (w *World) DropJob(id federation.JobID) {
	q := w.index.of(id)
	if q == nil {
		return
	}
	w.index.jobs.Delete(id)
	if q.refused {
		delete(w.refused, id)
	}
	looked := w.progress.lookedAt(q)
	w.queue.remove(q)
	w.guarantees.remove(q)
	w.progress.stale = w.pressed.shifted(w.queue.n) || w.progress.stale || looked && q.claim != 0
	w.progress.remove(q, looked)
}

// full reports whether the plan is about as many jobs as it may be.
func (pl *plan) full() bool {
	return pl.bound == pl.policy.MaxBind || pl.looked >= pl.policy.MaxLook && pl.behind >= pl.policy.Behind
}

// worked notes work that was done for a job behind the first ones.
func (pl *plan) worked(n int) {
	if pl.looked >= pl.policy.MaxLook {
		pl.behind += n
	}
}

// firstOfKind is how many decisions about jobs of a known kind take as long as one about the first job of its kind.
const firstOfKind = 200

// index finds the jobs of a queue by ID.
type index struct {
	queue *jobQueue
	jobs  jobmap.Map[*queued] // empty until somebody asks
}

// of returns a job of the queue, nil if that has none of that ID.
func (x *index) of(id federation.JobID) *queued {
	if x.jobs.Len() == 0 {
		for q := range x.queue.some() {
			x.jobs.Set(q.job.ID, q)
		}
	}
	return x.jobs.Of(id)
}

// rank is where a job stands in the queue.
func (g *groups) rank(j *Waiting) (group int32, r turn) {
	r.place = cmp.Or(j.Place, j.Job.ID)
	group, r.priority = g.of(j.Job, j.Expected)
	if j.Place != 0 && j.Job.Part != nil {
		r.index = int32(j.Job.Part.Index)
	}
	return group, r
}
