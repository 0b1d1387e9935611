package predict

import (
	"hash/fnv"
	"math"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/sbatch"
)

const (
	// keptWaits is how many waits a site's forecasts stand on. Fewer are worse: queues have weeks of memory.
	keptWaits = 10_000
	// keptWords is how many of the site's own expectations are compared with what became of them.
	keptWords = 200
	// keptEnds is how many ends of jobs are compared with their time limits.
	keptEnds = 200
	// longestLimit stands for no time limit.
	longestLimit = 30 * 24 * time.Hour
)

// Queue follows the queue of one site that others use too: who waits, who runs, and how long those waited that have started of late.
type Queue struct {
	site    federation.SiteName
	past    []wait // oldest first; only ever added to, or replaced
	open    map[federation.JobID]*open
	running map[federation.JobID]held
	begun   bool      // it has been looked at
	from    int64     // when first
	words   []float32 // actual / said, of what the site expected
	ends    []ending  // of jobs with a time limit
}

// ending is how long a job held its nodes, and what share of its time limit that was.
type ending struct{ seconds, share float32 }

// held is what a running job holds, and for how long it may.
type held struct {
	cpus        float64
	until, most int64 // its end at the latest, and its limit in seconds; 0: it has none
}

func heldBy(r *federation.RunningJob) held {
	h := held{cpus: float64(r.CPUs * max(len(r.Nodes), 1))}
	if limit := int64(r.Limit / time.Second); !r.End.IsZero() && limit > 0 && r.Limit != sbatch.Unlimited {
		h.until, h.most = r.End.Unix(), limit
	}
	return h
}

// trait is what is known of a job in a queue.
type trait struct {
	user, account, part uint32 // hashed
	nodes, gpus         uint32
	cpus, limit         float32 // limit in seconds
}

// size is of CPUs, minutes of the limit and GPUs the logarithm.
type size [3]float32

func (t *trait) size() size {
	return size{logOf(float64(t.cpus)), logOf(float64(t.limit) / 60), logOf(float64(t.gpus))}
}

// wait is one that is over.
type wait struct {
	trait
	size    size
	queue   sight
	since   uint32
	seconds float32
}

// open is one that goes on.
type open struct {
	trait
	queue sight
	since int64
	said  int64 // when the site expects its start; 0: it does not say
	first word
	idle  bool
	seen  bool // in this look
}

// word is what a site expected when it first did: a start, and when it said so.
type word struct{ at, start int64 }

// sight is what a queue looks like to a job that comes: logarithms of what matters.
type sight [8]float32

// What a sight consists of.
const (
	jobsAhead    = iota // that wait in its partition
	workAhead           // CPU-hours of their limits
	workInAll           // of all partitions
	cpusBusy            // CPUs that run jobs
	ownAhead            // of its user
	middleAge           // minutes that half of those in its partition have waited
	oldAge              // ... a tenth
	recentMiddle        // minutes that half of the last starts in its partition had waited
)

// recentStarts is how many starts recentMiddle is of.
const recentStarts = 20

func hashed(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

func traitOf(a *decision.QueueAsk) trait {
	limit := a.Limit
	if limit <= 0 || limit == sbatch.Unlimited || limit > longestLimit {
		limit = longestLimit
	}
	return trait{hashed(a.User), hashed(a.Account), hashed(a.Partition), uint32(a.Nodes), uint32(a.GPUs), float32(a.CPUs), float32(limit.Seconds())}
}

// work is in CPU-hours.
func (t *trait) work() float64 { return float64(t.cpus) * float64(t.limit) / 3600 }

func logOf(x float64) float32 { return float32(math.Log2(1 + max(x, 0))) }

// NewQueue returns a Queue of a site of which nothing is known yet.
func NewQueue(site federation.SiteName) *Queue {
	return &Queue{site: site, open: map[federation.JobID]*open{}, running: map[federation.JobID]held{}}
}

// Look takes in what the site says of its jobs. It returns the waits that have ended since the last look.
func (q *Queue) Look(obs *federation.Observation) (ended []PastWait) {
	now := obs.At.Unix()
	s := q.scene(now)
	running := make(map[federation.JobID]held, len(obs.Running))
	for i := range obs.Running {
		r := &obs.Running[i]
		_, known := q.running[r.Job]
		running[r.Job] = heldBy(r)
		if known {
			continue
		}
		switch o := q.open[r.Job]; {
		case o != nil:
			ended = append(ended, q.started(o, now))
			delete(q.open, r.Job)
		case q.begun && len(r.Nodes) > 0: // it came and started between two looks
			a := askOfRunning(r, obs.At)
			o = &open{trait: traitOf(&a), since: now}
			o.queue = s.sight(&o.trait)
			ended = append(ended, q.started(o, now))
		}
	}
	q.ended(running, now)
	q.running = running
	for i := range obs.Waiting {
		q.stands(&obs.Waiting[i], s, now)
	}
	for id, o := range q.open { // cancelled, or its end came too soon to be seen to run
		if !o.seen {
			delete(q.open, id)
		}
		o.seen = false
	}
	if !q.begun {
		q.begun, q.from = true, now
	}
	return ended
}

// ended notes of the jobs that run no longer how much of their time limits they took.
func (q *Queue) ended(running map[federation.JobID]held, now int64) {
	for id, h := range q.running {
		if _, still := running[id]; still || h.most == 0 {
			continue
		}
		lasted := min(max(h.most-(h.until-now), 0), h.most)
		q.ends = append(q.ends, ending{float32(lasted), float32(lasted) / float32(h.most)})
	}
	if len(q.ends) > 2*keptEnds {
		q.ends = slices.Clone(q.ends[len(q.ends)-keptEnds:])
	}
}

// stands takes in a job that waits.
func (q *Queue) stands(w *federation.WaitingJob, s *scene, now int64) {
	if _, begun := q.running[w.Job]; begun { // an array of which a task has started
		return
	}
	o := q.open[w.Job]
	if o == nil {
		a := askOfWaiting(w)
		o = &open{trait: traitOf(&a), since: now, idle: w.Idle}
		if at := w.Submit.Unix(); !w.Submit.IsZero() && at < now && !w.Idle {
			o.since = at
		}
		o.queue = s.sight(&o.trait)
		q.open[w.Job] = o
	}
	if o.idle && !w.Idle { // only now it waits for nodes
		o.since, o.queue = now, s.sight(&o.trait)
	}
	o.idle, o.seen, o.said = w.Idle, true, 0
	if at := w.Start.Unix(); !w.Start.IsZero() && at > now {
		o.said = at
		if o.first.at == 0 {
			o.first = word{now, at}
		}
	}
}

// started ends a wait.
func (q *Queue) started(o *open, now int64) PastWait {
	w := wait{o.trait, o.trait.size(), o.queue, uint32(o.since), float32(max(now-o.since, 0))}
	if o.idle {
		w.seconds = 0
	}
	q.add(w)
	if f := o.first; f.at > 0 && f.start-f.at >= 60 {
		q.words = append(q.words, float32(now-f.at)/float32(f.start-f.at))
		if len(q.words) > 2*keptWords {
			q.words = slices.Clone(q.words[keptWords:])
		}
	}
	return w.past(q.site)
}

// Young reports whether the queue has been looked at for less than a time, and little is known of it.
func (q *Queue) Young(now time.Time, less time.Duration) bool {
	return len(q.past) < fewWaits && now.Unix()-q.from < int64(less/time.Second)
}

func (q *Queue) add(w wait) {
	q.past = append(q.past, w)
	if len(q.past) > keptWaits+keptWaits/4 {
		q.past = slices.Clone(q.past[len(q.past)-keptWaits:])
	}
}

func askOfWaiting(w *federation.WaitingJob) decision.QueueAsk {
	a := decision.QueueAsk{User: w.User, Account: w.Account, Partition: w.Partition, Nodes: w.Nodes, CPUs: w.CPUs, Limit: w.Limit}
	for _, g := range w.GRES {
		if g.Name == "gpu" {
			a.GPUs += g.Total
		}
	}
	return a
}

func askOfRunning(r *federation.RunningJob, now time.Time) decision.QueueAsk {
	a := decision.QueueAsk{User: r.User, Account: r.Account, Partition: r.Partition, Nodes: len(r.Nodes), CPUs: r.CPUs * len(r.Nodes), Limit: r.Limit}
	if a.Limit == 0 && !r.End.IsZero() {
		a.Limit = r.End.Sub(now)
	}
	for _, g := range r.GRES {
		if g.Name == "gpu" {
			a.GPUs += g.Used * len(r.Nodes)
		}
	}
	return a
}

// scene is a queue at one time, counted once for all jobs that look at it.
type scene struct {
	parts map[uint32]*partScene
	work  float64
	cpus  float64
	own   map[uint32]int // by user
}

type partScene struct {
	jobs, work, cpus       float64 // that wait
	flow                   flow
	ages                   []float64 // seconds; sorted
	left                   []int64   // seconds until the starts that the site has said; sorted
	middle, old, recentMid float32
}

func (q *Queue) scene(now int64) *scene {
	s := &scene{parts: map[uint32]*partScene{}, own: map[uint32]int{}}
	for _, o := range q.open {
		if o.idle {
			continue
		}
		p := s.part(o.part)
		p.jobs++
		p.work += o.work()
		p.cpus += float64(o.cpus)
		s.work += o.work()
		p.ages = append(p.ages, float64(now-o.since))
		if o.said > now {
			p.left = append(p.left, o.said-now)
		}
		s.own[o.user]++
	}
	for _, h := range q.running {
		s.cpus += h.cpus
	}
	for i := len(q.past) - 1; i >= max(0, len(q.past)-50*flowStarts) && q.past[i].ended() >= q.from; i-- {
		s.part(q.past[i].part).flow.add(&q.past[i])
	}
	recent := map[uint32][]float32{}
	for i := len(q.past) - 1; i >= max(0, len(q.past)-50*recentStarts); i-- {
		if w := &q.past[i]; len(recent[w.part]) < recentStarts {
			recent[w.part] = append(recent[w.part], w.seconds)
		}
	}
	for part, waits := range recent {
		slices.Sort(waits)
		s.part(part).recentMid = logOf(float64(waits[len(waits)/2]) / 60)
	}
	for _, p := range s.parts {
		slices.Sort(p.ages)
		slices.Sort(p.left)
		if n := len(p.ages); n > 0 {
			p.middle, p.old = logOf(p.ages[n/2]/60), logOf(p.ages[n*9/10]/60)
		}
	}
	return s
}

func (s *scene) part(part uint32) *partScene {
	p := s.parts[part]
	if p == nil {
		p = &partScene{}
		s.parts[part] = p
	}
	return p
}

// sight is what a job would see that came now.
func (s *scene) sight(t *trait) sight {
	p := s.parts[t.part]
	if p == nil {
		p = &partScene{}
	}
	return sight{logOf(p.jobs), logOf(p.work), logOf(s.work), logOf(s.cpus), logOf(float64(s.own[t.user])), p.middle, p.old, p.recentMid}
}

// past is the wait as the store keeps it.
func (w *wait) past(site federation.SiteName) PastWait {
	traits := []uint32{w.user, w.account, w.part, w.nodes, w.gpus, math.Float32bits(w.cpus), math.Float32bits(w.limit)}
	for _, x := range w.queue {
		traits = append(traits, math.Float32bits(x))
	}
	return PastWait{Site: site, Since: time.Unix(int64(w.since), 0).UTC(), Seconds: float64(w.seconds), Traits: traits}
}

// waitOf reads what past wrote. It is false for what another version wrote.
func waitOf(p *PastWait) (w wait, ok bool) {
	t := p.Traits
	if len(t) != 7+len(w.queue) || p.Since.IsZero() {
		return w, false
	}
	w.trait = trait{t[0], t[1], t[2], t[3], t[4], math.Float32frombits(t[5]), math.Float32frombits(t[6])}
	w.size = w.trait.size()
	for i := range w.queue {
		w.queue[i] = math.Float32frombits(t[7+i])
	}
	w.since, w.seconds = uint32(p.Since.Unix()), float32(p.Seconds)
	return w, true
}
