package health

import (
	"fmt"
	"slices"
	"time"

	"fsub/federation"
	"fsub/topology"
)

// Engine keeps what has been seen of nodes and jobs, and says what follows from it by the rules. It has no clock and makes no calls: equal sequences of
// calls give equal findings. It remembers nodes on which something failed, jobs that failed and have not lived since, and a bounded number of kinds of jobs; of
// all others nothing.
type Engine struct {
	Fabric Fabric

	rules    []Rule
	look     func(federation.NodeID) Standing
	nodes    nodeBook
	jobs     map[federation.JobID]*JobState
	breakers map[string]*Breaker
	likes    likes
	lived    map[federation.SiteName]time.Time    // when a job last lived at a site
	late     map[string]map[int]federation.NodeID // by kind of jobs and rank: where it was slow
	clear    map[string]time.Time                 // what was seen before counts no more for a rule, by its name
	changed  Changed
}

// Standing is what the engine asks of a node.
type Standing struct {
	Pool string // its pool, with its site
	Size int    // nodes of the pool
	Site int    // nodes of the site
	Out  bool   // it is drained or down already
	// Known: the site has such a node, or was not seen yet.
	Known bool
	// Above are the leaf of the node and the switches or blocks above that, but for those that are above all nodes of the site.
	Above []topology.Unit
}

// NewEngine returns an engine that has seen nothing. look tells how a node stands now; it may know nothing of it.
func NewEngine(rules []Rule, look func(federation.NodeID) Standing) *Engine {
	e := &Engine{rules: rules, look: look, nodes: newNodeBook(), jobs: map[federation.JobID]*JobState{}, breakers: map[string]*Breaker{},
		likes: newLikes(), late: map[string]map[int]federation.NodeID{}, lived: map[federation.SiteName]time.Time{}, clear: map[string]time.Time{}}
	e.Fabric = Fabric{rule: e.rule(RulePart), rail: e.rule(RuleRail), look: look, nodes: &e.nodes, touch: e.touchNode, breakers: e.breakers, gangs: map[federation.SiteName]*gangBook{}}
	return e
}

// NodeState is what is remembered of a node on which something has failed.
type NodeState struct {
	Node   federation.NodeID `json:"node"`
	Fails  []Fail            `json:"fails,omitempty"`
	Lived  time.Time         `json:"lived,omitzero"`   // when a job last lived there, of those since the first failure
	Until  time.Time         `json:"until,omitzero"`   // it is suspected until then
	Rule   string            `json:"rule,omitempty"`   // by which
	Why    string            `json:"why,omitempty"`    // in words
	Drain  string            `json:"drain,omitempty"`  // the rule that has drained it
	Died   []death           `json:"died,omitempty"`   // of jobs that may run again, which Fails has no room for; none has lived there since
	Denied string            `json:"denied,omitempty"` // a rule that would have drained it and may not
	Down   []Port            `json:"down,omitempty"`   // its ports that are down, by its health check, in order
}

// death is the early death of a job that has ended with it.
type death struct {
	At  time.Time        `json:"at"`
	Job federation.JobID `json:"job"`
}

// Fail is one failure of a job on a node, or one finding of a health check, which has no job.
type Fail struct {
	At   time.Time        `json:"at"`
	Job  federation.JobID `json:"job,omitempty"`
	User string           `json:"user,omitempty"`
	Like string           `json:"like,omitempty"`
	Code Code             `json:"code"`
	Text string           `json:"text,omitempty"`
	Ran  time.Duration    `json:"ran,omitempty"`
	// Device is the port that a finding is about, and Rail the breaker of the rail that it is laid to: it is none of the node's own then.
	Device string `json:"device,omitempty"`
	Rail   string `json:"rail,omitempty"`
	// Innocent: the job lived on another node afterwards. Guilty: it failed on another node too. Ended: it ended with this failure, and might run again.
	Innocent bool `json:"innocent,omitempty"`
	Guilty   bool `json:"guilty,omitempty"`
	Ended    bool `json:"ended,omitempty"`
}

// JobState is what is remembered of a job that has failed on a node and has neither lived nor ended since.
type JobState struct {
	Job   federation.JobID `json:"job"`
	Fails []JobFail        `json:"fails"`
}

// JobFail is one failure of a job.
type JobFail struct {
	Node federation.NodeID `json:"node"`
	At   time.Time         `json:"at"`
	Code Code              `json:"code"`
	Exit int32             `json:"exit,omitempty"`
	Ran  time.Duration     `json:"ran,omitempty"`
}

// Finding is what a rule says.
type Finding struct {
	At    time.Time         `json:"time"`
	Rule  string            `json:"rule"`
	Act   Act               `json:"action"`
	Node  federation.NodeID `json:"node,omitzero"`
	Pool  string            `json:"pool,omitempty"`
	Job   federation.JobID  `json:"job,omitempty"`
	Until time.Time         `json:"until,omitzero"` // of a suspicion
	Why   string            `json:"why"`
	// Denied: why it is not done, although the rule says so: a limit, a breaker.
	Denied string `json:"denied,omitempty"`
	// Victims are jobs that ended with a failure on a node which was to blame: they may run again.
	Victims []federation.JobID `json:"victims,omitempty"`
	// Trips: a breaker has just opened.
	Trips bool `json:"trips,omitempty"`
}

// Changed names what is to be stored after a call.
type Changed struct {
	Nodes    map[federation.NodeID]bool
	Jobs     map[federation.JobID]bool
	Breakers bool
}

// TakeChanged returns what has changed since it was asked last.
func (e *Engine) TakeChanged() Changed {
	c := e.changed
	c.Breakers = c.Breakers || e.Fabric.changed
	e.changed, e.Fabric.changed = Changed{}, false
	return c
}

func (e *Engine) touchNode(id federation.NodeID) {
	if e.changed.Nodes == nil {
		e.changed.Nodes = map[federation.NodeID]bool{}
	}
	e.changed.Nodes[id] = true
}

func (e *Engine) touchJob(id federation.JobID) {
	if e.changed.Jobs == nil {
		e.changed.Jobs = map[federation.JobID]bool{}
	}
	e.changed.Jobs[id] = true
}

// Ended is an attempt that has ended.
type Ended struct {
	At   time.Time
	Job  federation.JobID
	User string
	Like string // jobs of one kind have one: tasks of one array, jobs of one name and user
	Site federation.SiteName
	// Nodes are those that it ran on. Blame are those of them that may have failed it: the one, or those that are down.
	Nodes, Blame []string
	// Late are nodes that were slower than the others while it ran.
	Late  []string
	Once  bool // it is not to run again
	Again bool // it may run again even if it exited with a code of its own
	End
}

// Verdict is whose failure the end of an attempt was, with what is known of others.
type Verdict struct {
	Class federation.FailureClass
	Code  Code
	Why   string // what it follows from, if not from the end alone
}

// Ended takes in the end of an attempt.
func (e *Engine) Ended(x Ended) (Verdict, []Finding) {
	class, code, doubtful := Classify(x.End)
	if class == federation.ClassNone || class != federation.ClassNode && x.Ran > Early {
		if x.State == federation.Cancelled && x.Ran <= Early {
			return Verdict{}, nil // it tells nothing
		}
		return Verdict{Class: class, Code: code}, e.livedOn(x)
	}
	v := Verdict{Class: class, Code: code}
	if class == federation.ClassPreempt || class == federation.ClassUser && !doubtful || len(x.Blame) == 0 || len(x.Blame) > 1 && class == federation.ClassUser {
		return v, nil
	}
	if v.Class == federation.ClassUser && x.Again {
		if why := e.doubts(&x); why != "" {
			v = Verdict{Class: federation.ClassNode, Code: CodeEarly, Why: why}
		}
	}
	if v.Class == federation.ClassNode && e.storm(&x, v.Code) {
		return Verdict{Class: federation.ClassSite, Code: CodeStorm, Why: "many nodes of " + string(x.Site) + " fail jobs at once"}, nil
	}
	found := e.failedOn(x, v)
	for i := range found {
		if found[i].Act == ActEnd {
			v = Verdict{Class: federation.ClassUser, Code: code, Why: "it dies so wherever it runs: " + found[i].Why}
		}
	}
	return v, found
}

// doubts says why a node may be to blame for a job's early death, "" if nothing says so.
func (e *Engine) doubts(x *Ended) string {
	id := federation.NodeID{Site: x.Site, Name: x.Blame[0]}
	if j := e.jobs[x.Job]; j != nil && !slices.ContainsFunc(j.Fails, func(f JobFail) bool { return f.Node == id }) {
		return "it has died so on " + j.Fails[0].Node.String() + " too"
	}
	alike, since := 0, time.Time{}
	if n := e.nodes.all[id]; n != nil {
		for i := range n.Fails {
			f := &n.Fails[i]
			if f.Guilty || !f.At.After(n.Lived) || !f.At.After(x.At.Add(-hour)) || f.Job == 0 || f.Job == x.Job || !isEarly(f.Code) {
				continue
			}
			if f.Like != x.Like || f.Innocent {
				return fmt.Sprintf("job %d has died so on %s, and none has lived there since", f.Job, id)
			}
			if alike++; since.IsZero() {
				since = f.At
			}
		}
	}
	if alike < likeNodes && e.likes.livedOn(x.Like, id) {
		return ""
	}
	if n := e.likes.elsewhere(x.Like, id, since); n >= likeNodes {
		return fmt.Sprintf("like jobs live on %d other nodes", n)
	}
	return ""
}

// likeNodes are on how many other nodes like jobs have to live for one's early death to be doubted.
const likeNodes = 2

func isEarly(c Code) bool { return slices.Contains(early, c) }

// failedOn notes a failure, and says what follows.
func (e *Engine) failedOn(x Ended, v Verdict) (found []Finding) {
	retried := v.Class != federation.ClassUser && !x.Once
	guilty := false
	var before []JobFail
	if j := e.jobs[x.Job]; j != nil {
		before = slices.Clone(j.Fails)
	}
	for _, name := range x.Blame {
		id := federation.NodeID{Site: x.Site, Name: name}
		other := slices.ContainsFunc(before, func(f JobFail) bool { return f.Node != id && isEarly(f.Code) })
		guilty = guilty || other && isEarly(v.Code)
		e.note(id, Fail{At: x.At, Job: x.Job, User: x.User, Like: x.Like, Code: v.Code, Ran: x.Ran, Guilty: other && isEarly(v.Code), Ended: !retried && !x.Once && x.Again}, retried)
		if retried {
			j := e.jobs[x.Job]
			if j == nil {
				j = &JobState{Job: x.Job}
				e.jobs[x.Job] = j
			}
			j.Fails = append(j.Fails, JobFail{Node: id, At: x.At, Code: v.Code, Exit: x.Exit, Ran: x.Ran})
			e.touchJob(x.Job)
		}
	}
	if guilty { // what it did elsewhere says nothing of those nodes any more
		for _, f := range before {
			e.mark(f.Node, x.Job, func(f *Fail) { f.Guilty = true })
			found = append(found, e.acquit(f.Node, x.At)...)
		}
	}
	for _, name := range x.Blame {
		found = append(found, e.judge(federation.NodeID{Site: x.Site, Name: name}, x.At)...)
	}
	if retried {
		found = append(found, e.judgeJob(x.Job, x.At)...)
	}
	return found
}

// What is remembered of one node or job.
const (
	most      = 32  // failures
	mostDeath = 512 // early deaths beyond these
)

// note remembers a failure on a node. Those that were jobs' own, as far as is known, are not stored: they are many.
func (e *Engine) note(id federation.NodeID, f Fail, stored bool) {
	n := e.nodes.of(id)
	n.Fails = append(n.Fails, f)
	e.nodes.failed(n)
	if len(n.Fails) > most {
		if old := &n.Fails[0]; old.mayBeVictim() && old.At.After(n.Lived) {
			n.Died = append(n.Died[max(0, len(n.Died)-mostDeath+1):], death{old.At, old.Job})
		}
		n.Fails = slices.Delete(n.Fails, 0, len(n.Fails)-most)
	}
	if stored {
		e.touchNode(id)
	}
}

// mark changes what is remembered of a job's failures on a node.
func (e *Engine) mark(id federation.NodeID, job federation.JobID, do func(*Fail)) {
	n := e.nodes.all[id]
	if n == nil {
		return
	}
	for i := range n.Fails {
		if n.Fails[i].Job == job {
			do(&n.Fails[i])
			e.touchNode(id)
		}
	}
}

// livedOn notes that a job lived: on its nodes others do, and where it failed before it was not to blame.
func (e *Engine) livedOn(x Ended) (found []Finding) {
	e.lived[x.Site] = x.At
	var on []federation.NodeID
	for _, name := range x.Nodes {
		id := federation.NodeID{Site: x.Site, Name: name}
		on = append(on, id)
		if n := e.nodes.all[id]; n != nil && !x.At.Before(n.Lived) {
			if len(n.Fails) > 0 && n.Fails[len(n.Fails)-1].At.After(n.Lived) {
				e.touchNode(id)
			}
			n.Lived, n.Died = x.At, nil
			found = append(found, e.acquit(id, x.At)...)
		}
	}
	if len(on) == 1 {
		if e.likes.slow(x.Like, life{on[0], x.At, x.Ran}, x.State == federation.Completed) {
			e.note(on[0], Fail{At: x.At, Job: x.Job, User: x.User, Like: x.Like, Code: CodeSlow, Ran: x.Ran}, true)
			found = append(found, e.judge(on[0], x.At)...)
		}
	}
	j := e.jobs[x.Job]
	if j == nil {
		return found
	}
	delete(e.jobs, x.Job)
	e.touchJob(x.Job)
	for _, f := range j.Fails {
		if slices.Contains(on, f.Node) {
			continue
		}
		e.mark(f.Node, x.Job, func(f *Fail) { f.Innocent = true })
		found = append(found, e.judge(f.Node, x.At)...)
	}
	return found
}
