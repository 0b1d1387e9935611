package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fsub/federation"
	"fsub/federation/demand"
	"fsub/federation/health"
	"fsub/federation/place"
	"fsub/sbatch"
)

// view is what the rest of the daemon sees of the controller. It never waits for a round, and a round never waits for it.
type view struct {
	sites     atomic.Pointer[viewOfSites]
	published time.Time
	behind    bool // something may have changed since, and it was too soon to publish it

	askMu sync.Mutex
	world *place.World // of the sites as published: a new kind of job is judged by it

	joinMu  sync.Mutex
	joining []Site // that are to be taken in
	tuning  *Tuning

	mu     sync.Mutex
	seqs   doneSeqs                     // the requests that have been carried out
	done   chan struct{}                // closed when there are more of them
	lookAt map[federation.SiteName]bool // true: though it does not answer

	after []func() // see afterRound

	starts    question[federation.Starts]
	spendings question[federation.Spendings]

	refused refusals
	told    atomic.Pointer[health.Report] // what the rules of health know
	aside   atomic.Pointer[[]federation.JobID]
}

// viewOfSites are the sites at one time, with what has been judged by them.
type viewOfSites struct {
	sites  []*federation.Site
	judged *judgements
}

// judgements remember what was said of each kind of job, up to a bound: users choose how many kinds there are.
type judgements struct {
	byKey sync.Map // judgeKey -> error
	n     atomic.Int64
}

// Bounds of what is remembered: of kinds, and of the text of one.
const (
	maxJudgements = 10_000
	maxJudgedText = 4 << 10
)

func (j *judgements) full() bool { return j.n.Load() >= maxJudgements }

func (j *judgements) add(k judgeKey, verdict error) {
	if !j.full() && k.demand.Text() <= maxJudgedText {
		j.byKey.Store(k, verdict)
		j.n.Add(1)
	}
}

func (v *view) init(p place.Policy) {
	v.done = make(chan struct{})
	v.sites.Store(&viewOfSites{judged: &judgements{}})
	v.world = place.NewWorld(p, 0)
}

// publishEvery bounds how often the sites are copied; what is judged by them need not be newer.
const publishEvery = 200 * time.Millisecond

// publish makes the sites as they are now visible.
func (c *Controller) publish() {
	aside := slices.Sorted(maps.Keys(c.asides.jobs))
	c.view.aside.Store(&aside)
	c.metrics.aside.Set(float64(len(aside)))
	last := c.view.sites.Load()
	old := last.sites
	c.view.behind = len(old) == len(c.sites) && c.now().Sub(c.view.published) < publishEvery
	if c.view.behind {
		return
	}
	c.view.published = c.now()
	next := &viewOfSites{judged: &judgements{}}
	same := len(old) == len(c.sites)
	for i, s := range c.sites {
		copied := s.Site
		for _, b := range c.queue.world.Bound(s.Name) {
			job := *b.Job
			b.Job = &job
			copied.Bound = append(copied.Bound, b)
		}
		next.sites = append(next.sites, &copied)
		same = same && old[i].Name == copied.Name && old[i].Seen == copied.Seen && old[i].Answering == copied.Answering && old[i].State == copied.State && old[i].Payers == copied.Payers
	}
	if same && !last.judged.full() { // judgements do not depend on what is bound
		next.judged = last.judged
	}
	c.view.sites.Store(next)
	c.metrics.queued(c.queue.tasks)
}

func (v *view) settled(done []int64) {
	if len(done) == 0 {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, seq := range done {
		v.seqs.add(seq)
	}
	close(v.done)
	v.done = make(chan struct{})
}

// Wake tells the controller that the store has something new.
func (c *Controller) Wake() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// LookAt asks for a look at a site's jobs out of turn. Looks follow each other no faster than lookGap.
func (c *Controller) LookAt(site federation.SiteName) {
	c.view.mu.Lock()
	if c.view.lookAt == nil {
		c.view.lookAt = map[federation.SiteName]bool{}
	}
	if _, asked := c.view.lookAt[site]; !asked {
		c.view.lookAt[site] = false
	}
	c.view.mu.Unlock()
	c.Wake()
}

// LookAgain has a site looked at now, though it has not answered: somebody has seen that it does.
func (c *Controller) LookAgain(site federation.SiteName) {
	c.view.mu.Lock()
	if c.view.lookAt == nil {
		c.view.lookAt = map[federation.SiteName]bool{}
	}
	c.view.lookAt[site] = true
	c.view.mu.Unlock()
	c.Wake()
}

const lookGap = 100 * time.Millisecond

// wanted returns the sites that LookAt was called for, with true those of LookAgain.
func (v *view) wanted() map[federation.SiteName]bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	sites := v.lookAt
	v.lookAt = nil
	return sites
}

// Sites returns the members of the federation as last published. The values are shared: they are not changed.
func (c *Controller) Sites() []*federation.Site { return c.view.sites.Load().sites }

// Aside returns the jobs that the controller leaves alone for a while, because it cannot go on with them.
func (c *Controller) Aside() []federation.JobID {
	if ids := c.view.aside.Load(); ids != nil {
		return *ids
	}
	return nil
}

// Settled waits until each of the requests seqs has been carried out as far as no site is needed, or for at most d. They were written just now: of one that was done long
// ago, or by a daemon before this one, nothing is known.
func (c *Controller) Settled(ctx context.Context, seqs []int64, d time.Duration) {
	timeout := time.After(d)
	for {
		c.view.mu.Lock()
		seqs = c.view.seqs.missing(seqs)
		done := c.view.done
		c.view.mu.Unlock()
		if len(seqs) == 0 {
			return
		}
		select {
		case <-done:
		case <-timeout:
			return
		case <-ctx.Done():
			return
		}
	}
}

// judgeKey is everything of a job that decides whether a site could ever run it. Jobs of one kind share a judgement.
type judgeKey struct {
	user, account string
	demand        *demand.Demand
	tasks         int    // of the array
	dir           string // that some site does not see
}

// Judge reports as *federation.SlurmError why no site can ever run j, or why its QOS allows no such job. It asks no site: a site that does not answer may be
// able to, unless its last observation says that it is not.
func (c *Controller) Judge(j *federation.Job) error {
	if j.Spec.Dependency != "" {
		if err := c.checkDependency(j); err != nil {
			return err
		}
	}
	if j.Spec.Array != "" {
		array, err := federation.ReadArray(j.Spec.Array)
		if err == nil && array.Max() >= c.cfg.MaxArray {
			err = fmt.Errorf("array %q: the highest index is %d (max_array_size)", j.Spec.Array, c.cfg.MaxArray-1)
		}
		if err != nil {
			return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2081, Text: "Invalid job array specification", Detail: err.Error()}
		}
	}
	for _, refuse := range [...]func(*federation.Job) error{c.misuses, c.unknown} {
		if err := refuse(j); err != nil {
			return err
		}
	}
	j = asTask(j)
	if err := c.deniedByQOS(j); err != nil {
		return err
	}
	v := c.view.sites.Load()
	key := keyOf(j, v.sites)
	if verdict, ok := v.judged.byKey.Load(key); ok {
		err, _ := verdict.(error)
		return err
	}
	err := c.judge(v, j)
	v.judged.add(key, err)
	return err
}

// asTask is what placement is asked of an array: one of its tasks.
func asTask(j *federation.Job) *federation.Job {
	array, err := federation.ReadArray(j.Spec.Array)
	if j.Spec.Array == "" || err != nil {
		return j
	}
	task := *j
	task.EditSpec(func(spec *sbatch.Spec) { spec.Array = "" })
	task.Part = &federation.ArrayPart{Array: j.ID, Count: array.Len()}
	return &task
}

func (c *Controller) judge(v *viewOfSites, j *federation.Job) error {
	var d federation.Decision
	err := c.ask(v, func(w *place.World) { d = w.Judge(j) })
	var fault *place.Fault
	if errors.As(err, &fault) && fault.Job == 0 { // what a site says of itself is no reason to refuse a job
		return nil
	}
	if err != nil {
		return err
	}
	if !d.Impossible() {
		return nil
	}
	if len(v.sites) == 0 {
		return &federation.SlurmError{Kind: federation.ErrCapacity, Number: 2014, Text: "Requested node configuration is not available", Detail: "no site is configured; add one to the configuration"}
	}
	if refusal := place.Refusal(d); refusal != nil {
		return refusal
	}
	return nil
}

var errNoDecision = errors.New("placement did not look at the job")

// planFor asks placement about one job alone, on the sites as published.
func (c *Controller) planFor(v *viewOfSites, j *federation.Job) (federation.Decision, error) {
	var p federation.Plan
	j = asTask(j)
	err := c.ask(v, func(w *place.World) {
		w.SetJob(place.Waiting{Job: j, Expected: c.expected(j)})
		defer w.DropJob(j.ID)
		p = w.Plan()
	})
	if err != nil {
		return federation.Decision{}, err
	}
	if len(p.Decisions) != 1 {
		return federation.Decision{}, errNoDecision
	}
	return p.Decisions[0], nil
}

// keyOf is what tells j from jobs that are judged otherwise.
func keyOf(j *federation.Job, sites []*federation.Site) judgeKey {
	k := judgeKey{user: j.User, account: j.Spec.Account, demand: j.Needs()}
	if j.Part != nil {
		k.tasks = j.Part.Count
	}
	for _, site := range sites {
		if !site.Reaches(j.Spec) { // then the refusal names it
			k.dir = j.Spec.WorkDir
		}
	}
	return k
}
