package fairshare

import (
	"math"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

// Points are a job's priority. An operator's number counts alone.
func (s *Shares) Points(j *federation.Job, e *decision.Expected) int64 {
	if j.Priority != 0 {
		return int64(j.Priority) + int64(j.Top)
	}
	st := s.now.Load()
	if n := st.first[j.ID]; n != 0 {
		return n
	}
	p := s.parts(j, e, st, st.rank(KeyOf(st.tree, j)), max(st.at.Sub(j.Submit), 0))
	return p.sum(j)
}

// Parts are what a job's points are made of, those that count for something. They add up to [Shares.Points], but for what is rounded.
func (s *Shares) Parts(j *federation.Job, e *decision.Expected) (all []decision.PriorityPart) {
	add := func(name string, points float64) {
		if points != 0 {
			all = append(all, decision.PriorityPart{Name: name, Points: points})
		}
	}
	if j.Priority != 0 {
		add(decision.PrioritySet, float64(j.Priority))
		add(decision.PriorityTop, float64(j.Top))
		return all
	}
	st := s.now.Load()
	if n := st.first[j.ID]; n != 0 {
		add(decision.PriorityFirst, float64(n))
		return all
	}
	p := s.parts(j, e, st, st.rank(KeyOf(st.tree, j)), max(st.at.Sub(j.Submit), 0))
	add(decision.PriorityFairShare, p.share)
	add(decision.PriorityAge, p.age)
	add(decision.PriorityWork, p.work)
	add(decision.PriorityQOS, p.qos)
	add(decision.PriorityPartition, p.partition)
	add(decision.PrioritySize, p.size)
	add(decision.PriorityLate, p.late)
	add(decision.PriorityTop, float64(j.Top))
	add(decision.PriorityNice, -float64(j.Spec.Nice))
	return all
}

// parts are what points are made of.
type parts struct{ share, late, age, work, qos, partition, size float64 }

func (p *parts) sum(j *federation.Job) int64 {
	return p.association() + p.own(j)
}

// association are those of all jobs of an association.
func (p *parts) association() int64 { return int64(p.share + p.late) }

// own are those of a job itself.
func (p *parts) own(j *federation.Job) int64 {
	return int64(p.age+p.work+p.qos+p.partition+p.size) + int64(j.Top) - int64(j.Spec.Nice)
}

// parts are those of a job that is of an age.
func (s *Shares) parts(j *federation.Job, e *decision.Expected, st *standing, r rank, age time.Duration) (p parts) {
	p.rank(s, r)
	p.aged(s, age, s.younger(j, e))
	if j.Spec.QOS != "" {
		p.qos = s.policy.QOS * st.qos[strings.ToLower(j.Spec.QOS)]
	}
	if s.policy.Partition > 0 { // of several the best counts, as in Slurm
		for name := range strings.SplitSeq(j.Spec.Partition, ",") {
			p.partition = max(p.partition, s.policy.Partition*st.partitions[name])
		}
	}
	if s.policy.Size > 0 {
		p.size = s.policy.Size * math.Min(1, float64(max(j.Needs().MinNodes, 1))/1000)
	}
	return p
}

// aged sets what an age counts, and what a job counts for being younger than that by the work that it is.
func (p *parts) aged(s *Shares, age, younger time.Duration) {
	if s.policy.MaxAge > 0 {
		p.age = s.aged(age)
		if s.policy.Work > 0 {
			p.work = s.aged(age-younger) - p.age
		}
	}
}

// rank sets what an association's standing counts.
func (p *parts) rank(s *Shares, r rank) {
	p.share = s.policy.Share * r.factor
	if r.late {
		p.late = -1 << 32 // behind all others, whatever else counts
	}
}

// aged is what an age counts.
func (s *Shares) aged(age time.Duration) float64 {
	return s.policy.Age * math.Min(1, float64(age)/float64(s.policy.MaxAge))
}

// cpusOfGPU is how many CPUs of a job without GPUs count as a GPU.
const cpusOfGPU = 16

// longestLimit is the longest time limit that says something of how long a job runs.
const longestLimit = 14 * 24 * time.Hour

// Work is the GPU-time that a job is expected to take; of one without GPUs a sixteenth of its CPU-time. e is nil where nothing is known: then it is half of the time limit,
// or an hour if there is none. Half of the jobs are over by the p50, but the few long ones take most of the time. So it is the geometric mean of p90 and time limit
// that counts, or of p50 and p90: of those tried these did best on the trace of docs/planner.md.
func Work(j *federation.Job, e *decision.Expected) time.Duration {
	d := j.Needs()
	run, limit := time.Hour, time.Duration(0)
	if d.TimeLimit != sbatch.Unlimited {
		limit = min(d.TimeLimit, longestLimit)
	}
	switch {
	case e != nil && limit > 0:
		run = between(e.P90, limit)
	case e != nil:
		run = between(e.P50, e.P90)
	case limit > 0:
		run = limit / 2
	}
	units := 0.0
	size := d.Size(0)
	for _, g := range size.GRES {
		if g.Name == "gpu" {
			units += float64(g.Count)
		}
	}
	if units == 0 {
		units = math.Max(1, float64(size.CPUs)/cpusOfGPU)
	}
	return time.Duration(math.Min(run.Seconds()*units, math.MaxInt64/float64(2*time.Second)) * float64(time.Second))
}

// between is the geometric mean.
func between(a, b time.Duration) time.Duration {
	return time.Duration(math.Sqrt(float64(a) * float64(b)))
}

// Order is where a job stands in the queue: a higher one comes first. Of jobs with as many points those come first of which fewer of the same association
// stand before them, so that nobody's ten thousand jobs stand before everybody else's. A job's age is that at the time of the last pass that has changed
// all, less than nothing if it came later: so what was said of others holds beside it.
func (s *Shares) Order(j *federation.Job, e *decision.Expected) int64 {
	group, n := s.Of(j, e)
	return s.Group(group) + n
}

// mostPoints bounds either part of a job's points.
const mostPoints = 1 << 33

// inOrder is what points count in the queue's order: each more than any place.
func inOrder(points int64) int64 { return min(max(points, -mostPoints), mostPoints) << 28 }

// Of is a job's group: its association, or 0 if it stands where it stands whoever has it. n is what it counts itself.
func (s *Shares) Of(j *federation.Job, e *decision.Expected) (group int, n int64) {
	st := s.now.Load()
	seat := s.places.of(st.tree, j)
	var points int64
	switch first := st.first[j.ID]; {
	case j.Priority != 0:
		points = int64(j.Priority) + int64(j.Top)
	case first != 0:
		points = first
	default:
		p := s.parts(j, e, st, rank{}, st.ordered.Sub(j.Submit))
		group, points = int(seat.who)+1, p.own(j)
		if s.critical.takesPart(j) {
			return group, s.seat(j, e, seat, p, st.ordered)
		}
	}
	return group, inOrder(points) - int64(seat.place)
}

// Group is what all jobs of a group count beside that.
func (s *Shares) Group(group int) int64 {
	if group == 0 {
		return 0
	}
	st, r := s.now.Load(), rank{}
	if who := group - 1; who < len(st.ranks) {
		r = st.ranks[who]
	} else {
		r = st.rank(s.places.keys[who])
	}
	var p parts
	p.rank(s, r)
	return inOrder(p.association())
}
