package controller

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/federation/place"
	"fsub/sbatch"
)

// judging tells of jobs what placement and the account tree think of them, by the sites as published. Its methods may be called at any time, by any goroutine.
type judging struct {
	now      func() time.Time
	store    Store
	faults   faults
	limits   atomic.Pointer[limits] // without sites: prices do not count
	runs     *runTimes
	maxArray int
	priced   func() map[string]bool
	shown    atomic.Pointer[viewOfSites]

	askMu sync.Mutex
	world *place.World // of the sites as published: a new kind of job is judged by it
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

// judgeKey is everything of a job that decides whether a site could ever run it. Jobs of one kind share a judgement.
type judgeKey struct {
	user, account string
	demand        *demand.Demand
	tasks         int    // of the array
	dir           string // that some site does not see
}

// Judge reports as *federation.SlurmError why no site can ever run j, or why its QOS allows no such job. It asks no site: a site that does not answer may be
// able to, unless its last observation says that it is not.
func (jd *judging) Judge(j *federation.Job) error {
	if j.Spec.Dependency != "" {
		if err := jd.checkDependency(j); err != nil {
			return err
		}
	}
	if j.Spec.Array != "" {
		array, err := federation.ReadArray(j.Spec.Array)
		if err == nil && array.Max() >= jd.maxArray {
			err = fmt.Errorf("array %q: the highest index is %d (max_array_size)", j.Spec.Array, jd.maxArray-1)
		}
		if err != nil {
			return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2081, Text: "Invalid job array specification", Detail: err.Error()}
		}
	}
	for _, refuse := range [...]func(*federation.Job) error{jd.misuses, jd.unknown} {
		if err := refuse(j); err != nil {
			return err
		}
	}
	j = asTask(j)
	if err := jd.denied(j); err != nil {
		return err
	}
	v := jd.shown.Load()
	key := keyOf(j, v.sites)
	if verdict, ok := v.judged.byKey.Load(key); ok {
		err, _ := verdict.(error)
		return err
	}
	err := jd.judge(v, j)
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

func (jd *judging) judge(v *viewOfSites, j *federation.Job) error {
	var d decision.Decision
	err := jd.ask(v, func(w *place.World) { d = w.Judge(j) })
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

// WhyNone returns a function for jobs that are asked about together: it says for each of some sites why it could not run a job, whatever is free there, by the
// sites as published now. It says nil if one of them could, or if nothing can be told. Jobs of one kind share a judgement.
func (jd *judging) WhyNone() func(*federation.Job, []federation.SiteName) []decision.Rejection {
	view, known := jd.shown.Load(), map[judgeKey]decision.Decision{}
	return func(j *federation.Job, sites []federation.SiteName) []decision.Rejection {
		j = asTask(j)
		key := keyOf(j, view.sites)
		d, judged := known[key]
		if !judged {
			if jd.ask(view, func(w *place.World) { d = w.Judge(j) }) != nil {
				return nil
			}
			known[key] = d
		}
		return place.NoneRuns(&d, sites)
	}
}

var errNoDecision = errors.New("placement did not look at the job")

// planFor asks placement about one job alone, on the sites as published.
func (jd *judging) planFor(v *viewOfSites, j *federation.Job) (decision.Decision, error) {
	var p federation.Plan
	j = asTask(j)
	err := jd.ask(v, func(w *place.World) {
		w.SetJob(place.Waiting{Job: j, Expected: jd.runs.expected(j)})
		defer w.DropJob(j.ID)
		p = w.Plan()
	})
	if err != nil {
		return decision.Decision{}, err
	}
	if len(p.Decisions) != 1 {
		return decision.Decision{}, errNoDecision
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

// ask has do ask placement about the sites as published, for somebody who waits for the answer. Its error is a [place.Fault].
func (jd *judging) ask(v *viewOfSites, do func(*place.World)) error {
	jd.askMu.Lock()
	defer jd.askMu.Unlock()
	w := jd.world
	f := w.Guard(func() {
		w.SetTime(jd.now().UTC())
		w.KeepSites(func(name federation.SiteName) bool {
			return slices.ContainsFunc(v.sites, func(s *federation.Site) bool { return s.Name == name })
		})
		for _, s := range v.sites {
			w.SetSite(s)
		}
		do(w)
	})
	if f != nil {
		jd.faults.tell(f)
		return f
	}
	return nil
}
