package fairshare

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
)

// critical has those jobs of a user's workflows go first from which the longest path goes on. Jobs of one user that count alike but for when they came ([row]) exchange
// their places: the places stay the same ones, so nothing changes for jobs of others. Only jobs with a --group take part.
type critical struct {
	rows map[rowKey]*row
	of   map[federation.JobID]rowed
	left func(federation.JobID) time.Duration
}

// rowKey is what jobs have in common that exchange their places.
type rowKey struct {
	who            int32
	qos, partition string
	points         int64 // but for what they have by their age and work
}

// row is jobs that exchange their places, in no order.
type row struct {
	key     rowKey
	jobs    []sitting
	changed bool // since it was arranged
}

// rowed is where a job is in its row.
type rowed struct {
	*row
	at int
}

// sitting is a job in a row and the place that it has now.
type sitting struct {
	id   federation.JobID
	path federation.JobID // whose path is its own: an array's, for its tasks
	left time.Duration
	place
}

// place is what a job's age counts from, and by how much that counts as younger, wherever the job came from that has the place now.
type place struct {
	from    time.Time
	younger time.Duration
	n       int64 // what the place counts: see Of
}

// front is how many jobs of a row are in order: those behind them get there in time, as a plan seldom starts so many of one user at once.
const front = 256

func newCritical() *critical {
	return &critical{rows: map[rowKey]*row{}, of: map[federation.JobID]rowed{}}
}

// Critical reports whether the order depends on how long the paths of workflows are.
func (s *Shares) Critical() bool { return s.critical != nil }

// Paths tells how to find out how long the longest path from a job on takes. It is called before there are jobs.
func (s *Shares) Paths(left func(federation.JobID) time.Duration) { s.critical.left = left }

// takesPart reports whether a job may have another's place.
func (c *critical) takesPart(j *federation.Job) bool {
	return c != nil && c.left != nil && j.Spec.Fed != nil && j.Spec.Fed.Group != ""
}

// seat is what a job that takes part counts by its place.
func (s *Shares) seat(j *federation.Job, e *decision.Expected, at seat, p parts, ordered time.Time) int64 {
	c := s.critical
	own := p
	own.age, own.work = 0, 0
	key := rowKey{at.who, strings.ToLower(j.Spec.QOS), j.Spec.Partition, own.own(j)}
	was, sits := c.of[j.ID]
	job := sitting{id: j.ID, path: j.ID, place: place{from: j.Submit, younger: s.younger(j, e)}}
	if j.Part != nil {
		job.path = j.Part.Array
	}
	if sits {
		job.place, job.left = was.jobs[was.at].place, was.jobs[was.at].left
		if was.key != key {
			c.leave(j.ID)
			sits = false
		}
	}
	if !sits {
		r := c.rows[key]
		if r == nil {
			r = &row{key: key}
			c.rows[key] = r
		}
		was = rowed{r, len(r.jobs)}
		r.jobs, c.of[j.ID], r.changed = append(r.jobs, job), was, true
	}
	own.aged(s, ordered.Sub(job.from), job.younger)
	left, n := c.left(job.path), inOrder(own.own(j))-int64(at.place)
	was.changed = was.changed || left != job.left || n != job.n
	job.left, job.n = left, n
	was.jobs[was.at] = job
	return n
}

// younger is by how much a job counts as younger for the work that it is expected to be.
func (s *Shares) younger(j *federation.Job, e *decision.Expected) time.Duration {
	if s.policy.Work <= 0 || s.policy.MaxAge <= 0 {
		return 0
	}
	return time.Duration(min(s.policy.Work*Work(j, e).Seconds(), s.policy.MaxAge.Seconds()) * float64(time.Second))
}

// leave takes a job that does not wait any more out of its row, with its place.
func (c *critical) leave(id federation.JobID) {
	if c == nil {
		return
	}
	r, ok := c.of[id]
	if !ok {
		return
	}
	delete(c.of, id)
	last := len(r.jobs) - 1
	if r.at != last {
		r.jobs[r.at] = r.jobs[last]
		c.of[r.jobs[r.at].id] = r
	}
	r.jobs, r.changed = r.jobs[:last], true
	if last == 0 {
		delete(c.rows, r.key)
	}
}

// Arrange gives the places of each row to its jobs in the order of their paths, the longest first. lengthened are jobs whose paths have changed. It returns the jobs that have
// another place than before: [Shares.Of] tells which.
func (s *Shares) Arrange(lengthened []federation.JobID) (moved []federation.JobID) {
	c := s.critical
	for _, id := range lengthened {
		if r, ok := c.of[id]; ok {
			j := &r.jobs[r.at]
			j.left, r.changed = c.left(j.path), true
		}
	}
	for _, r := range c.rows {
		if r.changed {
			r.changed = false
			moved = s.arrange(r, moved)
		}
	}
	return moved
}

func (s *Shares) arrange(r *row, moved []federation.JobID) []federation.JobID {
	jobs := r.jobs
	first := firstOf(len(jobs), func(a, b int) int { // by what is left
		if x, y := jobs[a].left, jobs[b].left; x != y {
			return cmp.Compare(y, x)
		}
		return cmp.Or(cmp.Compare(jobs[a].path, jobs[b].path), cmp.Compare(jobs[a].id, jobs[b].id))
	})
	holders := firstOf(len(jobs), func(a, b int) int { // by their places
		if x, y := jobs[a].n, jobs[b].n; x != y {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(jobs[a].id, jobs[b].id)
	})
	rank := make(map[int]int, len(holders)) // of a holder's place
	for i, h := range holders {
		rank[h] = i
	}
	for i, a := range first {
		b := holders[i]
		if a == b {
			continue
		}
		x, y := &jobs[a], &jobs[b]
		s.places.swap(x.id, y.id)
		x.place, y.place = y.place, x.place
		moved = append(moved, x.id, y.id)
		if k, ok := rank[a]; ok { // that place is the other's now
			holders[k], rank[b] = b, k
		} else {
			delete(rank, b)
		}
		holders[i], rank[a] = a, i
	}
	slices.Sort(moved)
	return slices.Compact(moved)
}

// firstOf returns those of n things that come first, in order, as many as are to be in order.
func firstOf(n int, compare func(a, b int) int) []int {
	var some []int
	for i := range n {
		if len(some) == 2*front {
			slices.SortFunc(some, compare)
			some = some[:front]
		}
		if len(some) < front || compare(i, some[front-1]) < 0 {
			some = append(some, i)
		}
	}
	slices.SortFunc(some, compare)
	return some[:min(front, len(some))]
}

// swap exchanges the places of two jobs.
func (p *places) swap(a, b federation.JobID) {
	x, y := p.byJob.Of(a), p.byJob.Of(b)
	x.place, y.place = y.place, x.place
	p.byJob.Set(a, x)
	p.byJob.Set(b, y)
}
