package cloud

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"slices"
	"time"

	"fsub/federation"
	"fsub/sbatch"
)

// class is the pending jobs that ask for the same: if its first job finds no machines, no other of it does. So an event costs no more than there are
// classes, however many jobs wait.
type class struct {
	key    string
	jobs   ranked
	pools  []*pool
	trying bool
	// since is when its first job was found to wait for machines; zero: it does not.
	since time.Time
}

// ranked is a heap: higher priority first, then the lower ID.
type ranked []*job

func rank(a, b *job) int {
	return cmp.Or(cmp.Compare(b.Job.Priority, a.Job.Priority), cmp.Compare(a.id(), b.id()))
}

func (r ranked) Len() int           { return len(r) }
func (r ranked) Less(i, j int) bool { return rank(r[i], r[j]) < 0 }
func (r ranked) Swap(i, j int)      { r[i], r[j] = r[j], r[i] }
func (r *ranked) Push(x any)        { *r = append(*r, x.(*job)) }
func (r *ranked) Pop() any {
	old := *r
	j := old[len(old)-1]
	old[len(old)-1] = nil
	*r = old[:len(old)-1]
	return j
}

// enqueue lets a pending job be scheduled, if nothing but machines is missing.
func (q *queue) enqueue(j *job) {
	if j.State != federation.Pending || j.run != nil || j.class != nil {
		return
	}
	switch {
	case j.Job.Held != federation.NotHeld:
		j.Reason = federation.ReasonHeldUser
		if j.Job.Held == federation.HeldAdmin {
			j.Reason = federation.ReasonHeldAdmin
		}
		return
	case j.begin().After(q.now()):
		j.Reason = federation.ReasonBeginTime
		q.begins[j] = true
		return
	}
	delete(q.begins, j)
	c := q.classOf(j)
	j.class = c
	j.Reason, j.Detail = federation.ReasonPriority, ""
	heap.Push(&c.jobs, j)
	if c.jobs[0] == j {
		c.since = time.Time{}
		q.try(c)
	}
}

// dequeue takes a job out of its class.
func (q *queue) dequeue(j *job) {
	delete(q.begins, j)
	c := j.class
	if c == nil {
		return
	}
	j.class = nil
	i := slices.Index(c.jobs, j)
	heap.Remove(&c.jobs, i)
	if i == 0 {
		c.since = time.Time{}
		q.try(c)
	}
	q.drop(c)
}

// drop forgets a class that has no jobs.
func (q *queue) drop(c *class) {
	if len(c.jobs) > 0 {
		return
	}
	delete(q.classes, c.key)
	for _, p := range c.pools {
		delete(p.classes, c)
		if p.first == c {
			p.first = nil
			q.capacity(p)
		}
	}
}

// classOf is the class of a job, made if it is new.
func (q *queue) classOf(j *job) *class {
	key := q.classKey(j)
	c := q.classes[key]
	if c == nil {
		c = &class{key: key}
		for _, w := range j.Wants {
			if p := q.fleet.pool(w.Partition); p != nil && !slices.Contains(c.pools, p) {
				c.pools = append(c.pools, p)
				p.classes[c] = true
			}
		}
		q.classes[key] = c
	}
	return c
}

// timed reports whether it matters for how long a job may run: its pool has a budget, or machines that are there until a time.
func (q *queue) timed(j *job) bool {
	for _, w := range j.Wants {
		p := q.fleet.pool(w.Partition)
		if p != nil && (p.Daily > 0 || p.Monthly > 0 || slices.ContainsFunc(p.lanes, func(l *lane) bool { return !l.offering.Until.IsZero() })) {
			return true
		}
	}
	return false
}

// classKey is equal for jobs that ask for the same machines.
func (q *queue) classKey(j *job) string {
	ask := struct {
		User  string
		Wants []want
		Specs []sbatch.Spec
		Limit time.Duration `json:",omitempty"`
	}{j.User.Name, j.Wants, nil, 0}
	if q.timed(j) {
		ask.Limit = j.Job.Spec.TimeLimit
	}
	for i := range j.Wants {
		s := j.component(i)
		ask.Specs = append(ask.Specs, sbatch.Spec{Constraint: s.Constraint, MinNodes: s.MinNodes, MaxNodes: s.MaxNodes, NTasks: s.NTasks,
			NTasksPerNode: s.NTasksPerNode, CPUsPerTask: s.CPUsPerTask, MemPerNode: s.MemPerNode, MemPerCPU: s.MemPerCPU, MemPerGPU: s.MemPerGPU, GRES: s.GRES,
			GPUs: s.GPUs, GPUsPerNode: s.GPUsPerNode, GPUsPerTask: s.GPUsPerTask, NodeList: s.NodeList, Exclude: s.Exclude, Exclusive: s.Exclusive, More: s.More})
	}
	text, err := json.Marshal(ask)
	if err != nil {
		panic(err) // a Spec was read from JSON
	}
	return string(text)
}

// try has a class looked at in the next pass.
func (q *queue) try(c *class) {
	if !c.trying && len(c.jobs) > 0 {
		c.trying = true
		q.trying = append(q.trying, c)
	}
}

// capacity has all classes of a pool looked at: there may be more room in it now.
func (q *queue) capacity(p *pool) {
	for c := range p.classes {
		q.try(c)
	}
}

// freed has the classes of a machine's pool looked at that may find room on it.
func (q *queue) freed(m *machine) {
	free := m.free()
	for c := range m.pool.classes {
		if s := &c.jobs[0].Job.Spec; len(c.jobs[0].Wants) > 1 || s.CPUsPerTask <= free.CPUs && s.MemPerNode <= free.Mem {
			q.try(c)
		}
	}
}

// queue is the jobs that wait for machines.
type queue struct {
	*base
	fleet   *fleet
	numbers *numbers
	offers  *offers
	runs    *runs
	rent    *renter

	begins  map[*job]bool // that wait for their time
	classes map[string]*class
	trying  []*class // that may find machines now
}

func newQueue(b *base) *queue {
	return &queue{base: b, begins: map[*job]bool{}, classes: map[string]*class{}}
}
