package health

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Act is what a rule does when it applies.
type Act string

const (
	ActOff     Act = "off"     // the rule is not looked at
	ActNotify  Act = "notify"  // it is told, and nothing else
	ActSuspect Act = "suspect" // the planner avoids the node for a while
	ActDrain   Act = "drain"   // the node is drained until somebody resumes it
	ActHold    Act = "hold"    // the job is held
	ActEnd     Act = "end"     // the job ends with its own failure
)

// Acts are all of them.
var Acts = []Act{ActOff, ActNotify, ActSuspect, ActDrain, ActHold, ActEnd}

// Rule says what is done when enough has been seen. A rule without Nodes is about a node, and counts failures there; one with Nodes is about a
// job, and counts nodes.
type Rule struct {
	Name  string
	What  string // what it means, for people
	Codes []Code // failures that count; a code that ends with "*" stands for all that begin so
	Jobs  int    // at least so many different jobs have failed on the node ...
	Users int    // ... of so many different users; 0: of any
	Likes int    // ... of so many kinds, see [Ended.Like]; 0: of any
	Nodes int    // the job has failed on so many different nodes
	// Alone: only failures since the last job that lived on the node count.
	Alone bool
	// Innocent: only failures of jobs that lived on another node afterwards count. It is the proof that the job was not to blame.
	Innocent bool
	Within   time.Duration // how far back failures count
	Act      Act
	For      time.Duration // how long a suspicion lasts
	// Limit is how many nodes of a pool the rule may drain within an hour, and no more than a tenth of the pool, but one. Beyond it the rule's breaker trips.
	Limit int
}

const (
	week = 7 * 24 * time.Hour
	day  = 24 * time.Hour
)

// Early is how soon a job has ended that may have died of its node.
const Early = time.Minute

// Rules are the built-in rules, in the order in which they are tried. A drain wants proof; a doubt is worth no more than a suspicion, which passes.
// A user chooses how and where his jobs end, so that the ends of one user's jobs prove nothing. The numbers are choices: nobody has published better ones.
func Rules() []Rule {
	return []Rule{
		{Name: "gpu-broken", What: "the node's health check finds a GPU that is lost or wants a reset", Codes: []Code{"check-gpu*"},
			Jobs: 1, Within: time.Hour, Act: ActDrain, Limit: 2},
		{Name: "disk-broken", What: "the node's health check finds a disk that is full, read-only or gone", Codes: []Code{"check-disk"},
			Jobs: 1, Within: time.Hour, Act: ActDrain, Limit: 2},
		{Name: "kills-jobs", What: "jobs of several users die here at once, and live elsewhere afterwards", Codes: early,
			Jobs: 2, Users: 2, Innocent: true, Alone: true, Within: day, Act: ActDrain, Limit: 2},
		{Name: "lemon", What: "it went down under three jobs within a week", Codes: []Code{CodeNodeFail},
			Jobs: 3, Within: week, Act: ActDrain, Limit: 1},

		{Name: "node-failed", What: "it went down under a job", Codes: []Code{CodeNodeFail, CodeBootFail},
			Jobs: 1, Within: time.Hour, Act: ActSuspect, For: 30 * time.Minute},
		{Name: "launch-failed", What: "it could not start a job", Codes: []Code{CodeLaunch},
			Jobs: 1, Alone: true, Within: time.Hour, Act: ActSuspect, For: 30 * time.Minute},
		{Name: "device-errors", What: "what a job or its site says names a broken device", Codes: []Code{CodeECC, CodeLostGPU, "xid-*", CodeSpool, CodeNodeMemory},
			Jobs: 1, Within: time.Hour, Act: ActSuspect, For: time.Hour},
		{Name: "link-errors", What: "jobs say that a network link fails; the node that says so is often not the one", Codes: []Code{CodeLink, CodePeer, "check-link"},
			Jobs: 2, Within: time.Hour, Act: ActSuspect, For: 30 * time.Minute},
		{Name: "kills-jobs-of-one", What: "jobs of one user die here at once, and live elsewhere afterwards", Codes: early,
			Jobs: 4, Innocent: true, Alone: true, Within: day, Act: ActSuspect, For: 30 * time.Minute},
		{Name: "early-deaths", What: "jobs of several users died here within a minute, by no exit of their own, and none has lived here since",
			Codes: []Code{CodeEarly, CodeLaunch, CodeBus}, Jobs: 2, Users: 2, Alone: true, Within: time.Hour, Act: ActSuspect, For: 30 * time.Minute},
		{Name: "black-hole", What: "whatever starts here dies within a minute", Codes: early,
			Jobs: 5, Users: 2, Likes: 3, Alone: true, Within: time.Hour, Act: ActSuspect, For: 30 * time.Minute},
		{Name: "slow", What: "like jobs run faster elsewhere", Codes: []Code{CodeSlow, CodeLate},
			Jobs: 5, Likes: 2, Within: day, Act: ActSuspect, For: 4 * time.Hour},
		{Name: "slow-in-gang", What: "by their heartbeats the steps of a running gang take longer there than on its other nodes", Codes: []Code{CodeLate},
			Jobs: 1, Within: time.Hour, Act: ActSuspect, For: 30 * time.Minute},
		{Name: RulePart, What: "gangs below one switch or in one block fail or are slow, and do well elsewhere: gangs are kept off it",
			Jobs: 3, Within: week, Act: ActSuspect, For: day},
		{Name: RuleRail, What: "the same port goes down on several nodes of a switch or block: gangs are kept off these nodes, and none is broken by itself",
			Jobs: 3, Within: 30 * time.Minute, Act: ActSuspect, For: day},
		{Name: "clock-wrong", What: "the node's health check finds a wrong clock", Codes: []Code{"check-clock"},
			Jobs: 1, Within: time.Hour, Act: ActNotify},

		{Name: "own-fault", What: "the job dies at once wherever it runs", Codes: []Code{CodeEarly}, Nodes: 2, Within: week, Act: ActEnd},
		{Name: "poison", What: "nodes fail the job at once where others live", Codes: early, Nodes: 2, Within: week, Act: ActHold},
		{Name: "kills-nodes", What: "nodes went down under the job", Codes: []Code{CodeNodeFail}, Nodes: 3, Within: week, Act: ActHold},
	}
}

// early are the failures of jobs that died early, whoever was to blame.
var early = []Code{CodeEarly, CodeLaunch, CodeBus, CodeMount, CodeExit, CodeSignal}

// counts reports whether failures of a code count.
func (r *Rule) counts(c Code) bool {
	return slices.ContainsFunc(r.Codes, func(p Code) bool {
		prefix, all := strings.CutSuffix(string(p), "*")
		return c == p || all && strings.HasPrefix(string(c), prefix)
	})
}

// Override replaces parts of a built-in rule. Zero fields leave it as it is.
type Override struct {
	Act    Act
	Jobs   int
	Limit  int
	For    time.Duration
	Within time.Duration
}

// WithOverrides are the built-in rules with what the configuration says of some of them.
func WithOverrides(by map[string]Override) ([]Rule, error) {
	rules := Rules()
	for name, o := range by {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("no rule %q: see fed health rules", name)
		}
		r := &rules[i]
		acts := []Act{ActOff, ActNotify, ActSuspect, ActDrain}
		if name == RulePart || name == RuleRail {
			acts = acts[:3]
		}
		if r.Nodes > 0 {
			acts = []Act{ActOff, ActNotify, ActHold, ActEnd}
		}
		switch {
		case o.Act != "" && !slices.Contains(acts, o.Act):
			return nil, fmt.Errorf("rule %s: invalid action %q: want one of %v", name, o.Act, acts)
		case o.Jobs < 0 || o.Limit < 0 || o.For < 0 || o.Within < 0:
			return nil, fmt.Errorf("rule %s: jobs, limit, for and within are not negative", name)
		case o.Jobs > 0 && r.Nodes > 0:
			return nil, fmt.Errorf("rule %s: it counts nodes, not jobs", name)
		}
		set(&r.Act, o.Act)
		set(&r.Jobs, o.Jobs)
		set(&r.Limit, o.Limit)
		set(&r.For, o.For)
		set(&r.Within, o.Within)
		if r.Act == ActDrain && r.Limit == 0 {
			r.Limit = 1
		}
		if r.Act == ActSuspect && r.For == 0 {
			r.For = 30 * time.Minute
		}
	}
	return rules, nil
}

func set[T comparable](p *T, v T) {
	var zero T
	if v != zero {
		*p = v
	}
}

// needs says in a few words what has to be seen for a rule to apply.
func (r *Rule) needs() string {
	n := fmt.Sprintf("%d jobs", r.Jobs)
	switch {
	case r.Nodes > 0:
		n = fmt.Sprintf("%d nodes", r.Nodes)
	case r.Name == RuleRail:
		n = fmt.Sprintf("%d nodes", r.Jobs)
	case r.Jobs == 1:
		n = "1 finding"
	}
	if r.Users > 0 {
		n += fmt.Sprintf(" of %d users", r.Users)
	}
	if r.Likes > 0 {
		n += fmt.Sprintf(" of %d kinds", r.Likes)
	}
	return n + " in " + Span(r.Within)
}

// Needs says in a few words what has to be seen for the rule to apply.
func (r *Rule) Needs() string { return r.needs() }

// Span writes a span of time as people do: 30m, 4h, 7d.
func Span(d time.Duration) string {
	switch {
	case d >= day && d%day == 0:
		return fmt.Sprintf("%dd", d/day)
	case d >= time.Hour && d%time.Hour == 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return d.String()
}
