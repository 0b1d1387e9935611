package controller

import (
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fsub/federation"
	"fsub/federation/action"
	"fsub/federation/audit"
	"fsub/federation/health"
	"fsub/federation/heartbeat"
	"fsub/federation/idle"
	"fsub/federation/reasons"
	"fsub/slurm/hostlist"
	"fsub/topology"
)

// healthRules tells the rules of package health what it sees of jobs and nodes, and does what they say: nodes are avoided or drained, jobs held or taken up
// again. What the rules remember is in the store; a drain is an operator's wish like others, in the name of "health".
type healthRules struct {
	federation string
	now        func() time.Time
	log        *slog.Logger
	metrics    *metrics
	records    health.Store         // nil: what the rules remember is forgotten with the daemon
	rerunEarly bool                 // see Config
	notify     func(health.Finding) // nil: nobody is told
	sites      *roster
	jobs       *jobTable
	batch      *pendingBatch
	nodes      *nodes
	pools      *nodePools
	engine     *health.Engine
	report     *ruleReport

	extra      map[federation.NodeID]string // what nodes' health checks last said
	next       time.Time                    // when the next suspicion ends
	nextForget time.Time                    // when what is old is forgotten
}

// ruleReport is what people see of what the rules know.
type ruleReport struct {
	changed bool      // since it was published
	next    time.Time // when it may be published again
	idle    idle.Rule
	to      *atomic.Pointer[health.Report]
}

// nodePools tell which pools the nodes of the sites are in.
type nodePools struct {
	sites *roster
	of    map[federation.SiteName]*poolIndex
}

// poolIndex tells which pool a node is in.
type poolIndex struct {
	of     []federation.Pool
	byNode map[string]int // index into of
	at     map[string]int // index into the observation's nodes
	above  map[string][]topology.Unit
	seen   *federation.Observation
}

// newRules makes the engine of the rules of health. The pools tell it where nodes are.
func newRules(rules []health.Rule, sites []Site, pools *nodePools, m *metrics) *health.Engine {
	if rules == nil {
		rules = health.Rules()
	}
	for i := range rules {
		if rules[i].Act == health.ActDrain {
			m.breaker(rules[i].Name, false)
		}
	}
	for i := range sites {
		m.breaker("site:"+string(sites[i].Name), false)
	}
	return health.NewEngine(rules, pools.standing)
}

// looked takes in a look at a site, and returns it with what is wanted of its nodes and what the rules say of them.
func (hr *healthRules) looked(s *site, o *federation.Observation) *federation.Observation {
	hr.nodes.takeLook(s, o)
	hr.readChecks(s, o)
	return hr.nodes.seen(s, o)
}

// readChecks takes in what the nodes' health checks have written into their records at the site. What is there when the daemon starts is no news of a node
// that somebody has resumed.
func (hr *healthRules) readChecks(s *site, o *federation.Observation) {
	first, wanted := s.Seen == nil, hr.nodes.of(s.Name).wanted
	for i := range o.Nodes {
		n := &o.Nodes[i]
		if n.Info == nil {
			continue
		}
		id := federation.NodeID{Site: s.Name, Name: n.Name}
		if !strings.HasPrefix(n.Info.Extra, health.CheckMark) { // of a machine that nothing is wrong with
			if _, was := hr.extra[id]; was || first && n.Rented != nil && hr.engine.Node(id) != nil {
				delete(hr.extra, id)
				hr.checked(id, nil)
			}
			continue
		}
		if hr.extra[id] == n.Info.Extra {
			continue
		}
		hr.extra[id] = n.Info.Extra
		if r := wanted[n.Name]; first && r != nil && r.Wish == federation.WishResume {
			continue
		}
		if checks, err := health.ReadChecks(n.Info.Extra); err != nil {
			hr.log.Warn("findings of a health check", "site", s.Name, "node", n.Name, "err", err)
		} else {
			hr.checked(id, checks)
		}
	}
}

// standing is what the rules ask of a node.
func (np *nodePools) standing(id federation.NodeID) health.Standing {
	s := np.sites.byName[id.Site]
	if s == nil || s.Seen == nil {
		return health.Standing{Pool: string(id.Site), Size: 1, Site: 1, Known: s != nil}
	}
	x := np.of[id.Site]
	if x == nil || x.seen != s.Seen {
		x = &poolIndex{of: s.Pools, byNode: map[string]int{}, at: make(map[string]int, len(s.Seen.Nodes)), seen: s.Seen}
		for p := range s.Pools {
			for _, n := range s.Pools[p].Nodes {
				if _, ok := x.byNode[s.Seen.Nodes[n].Name]; !ok {
					x.byNode[s.Seen.Nodes[n].Name] = p
				}
			}
		}
		for i := range s.Seen.Nodes {
			x.at[s.Seen.Nodes[i].Name] = i
		}
		if tree := s.Seen.Tree; len(tree.Switches) > 0 {
			x.above = tree.Above()
		}
		np.of[id.Site] = x
	}
	st := health.Standing{Above: x.above[id.Name], Pool: string(id.Site), Size: len(s.Seen.Nodes), Site: len(s.Seen.Nodes)}
	if p, ok := x.byNode[id.Name]; ok {
		st.Pool, st.Size = string(id.Site)+"/"+x.of[p].Name, len(x.of[p].Nodes)
	}
	if i, ok := x.at[id.Name]; ok {
		st.Known = true
		switch health.ConditionOf(&s.Seen.Nodes[i]) {
		case health.Drained, health.DownDrained, health.Down, health.DownAnswers:
			st.Out = true
		}
	}
	return st
}

// kind is what jobs that are alike have in common.
func kind(j *job) string {
	if j.Part != nil {
		return "array " + j.Part.Array.String()
	}
	return j.User + " " + j.Spec.Name
}

// attemptEnded tells the rules of the end of an attempt, and returns whose failure it was, with what is to become of the job.
func (hr *healthRules) attemptEnded(s *site, j *job, sj *federation.SiteJob) (health.Verdict, *health.Finding) {
	if j.whole != nil { // its tasks have ends of their own
		class, code, _ := health.Classify(health.End{State: sj.State, Reason: sj.Reason, Exit: sj.ExitStatus, Ran: math.MaxInt64})
		return health.Verdict{Class: class, Code: code}, nil
	}
	x := hr.endOf(s, j, sj.Nodes, health.End{State: sj.State, Reason: sj.Reason, Exit: sj.ExitStatus, Text: sj.Detail})
	if !sj.Start.IsZero() {
		x.Ran = sj.End.Sub(sj.Start)
	}
	v, found := hr.engine.Ended(x)
	return v, hr.carryOutAll(append(found, hr.engine.Fabric.Ended(x, v)...))
}

// endOf is the end of a run on some nodes.
func (hr *healthRules) endOf(s *site, j *job, nodes string, end health.End) health.Ended {
	x := health.Ended{At: hr.now().UTC(), Job: j.ID, User: j.User, Like: kind(j), Site: s.Name, End: end, Once: j.Spec.Requeue != nil && !*j.Spec.Requeue, Again: hr.rerunEarly || j.Spec.Requeue != nil && *j.Spec.Requeue}
	x.Nodes, _ = hostlist.Expand(nodes)
	x.Late = heartbeatOf(j).Now()
	if end.State == federation.Completed {
		return x
	}
	if len(x.Nodes) == 1 {
		x.Blame = x.Nodes
		if s.Seen != nil {
			hr.pools.standing(federation.NodeID{Site: s.Name, Name: x.Nodes[0]})
			if i, ok := hr.pools.of[s.Name].at[x.Nodes[0]]; ok && !strings.HasPrefix(s.Seen.Nodes[i].Reason, hr.federation+":") {
				x.Text = strings.TrimSpace(x.Text + "\n" + s.Seen.Nodes[i].Reason)
			}
		}
		return x
	}
	for _, name := range x.Nodes { // of several, those that are down
		if hr.pools.standing(federation.NodeID{Site: s.Name, Name: name}).Out {
			x.Blame = append(x.Blame, name)
		}
	}
	return x
}

// requeuedThere tells the rules that a site has queued a job again by itself, which it does when nodes fail. It returns what is to become of the job, and whether
// it was a failure at all: jobs are preempted and requeued by hand, too.
func (hr *healthRules) requeuedThere(s *site, j *job, nodes string, held bool) (said *health.Finding, failed bool) {
	x := hr.endOf(s, j, nodes, health.End{State: federation.NodeFail})
	x.Blame = slices.DeleteFunc(slices.Clone(x.Nodes), func(name string) bool { return !hr.pools.standing(federation.NodeID{Site: s.Name, Name: name}).Out })
	if len(x.Blame) == 0 {
		if !held || len(x.Nodes) != 1 {
			return nil, false
		}
		x.Blame, x.State, x.Reason = x.Nodes, federation.Failed, reasons.LaunchFailure
	}
	v, found := hr.engine.Ended(x)
	return hr.carryOutAll(append(found, hr.engine.Fabric.Ended(x, v)...)), true
}

// carryOutAll does what the rules say of nodes. What is said of a job its caller does.
func (hr *healthRules) carryOutAll(found []health.Finding) (ofJob *health.Finding) {
	for i := range found {
		if f := &found[i]; f.Job != 0 && (f.Act == health.ActHold || f.Act == health.ActEnd) {
			ofJob = f
		}
		hr.carryOut(found[i])
	}
	hr.write()
	return ofJob
}

// late tells the rules that a node of a running gang is slower than the others. It returns why the job is to blame for that, "" if nothing says so.
func (hr *healthRules) late(s *site, j *job, x heartbeat.Slow, why string) string {
	late := health.Late{At: hr.now().UTC(), Job: j.ID, User: j.User, Like: kind(j), Node: federation.NodeID{Site: s.Name, Name: x.Node}, Rank: x.Rank, Why: why}
	job, found := late.Tell(hr.engine)
	hr.carryOutAll(found)
	return job
}

// healthOwner is in whose name nodes are drained.
const healthOwner = "health"

func (hr *healthRules) carryOut(f health.Finding) {
	hr.report.changed = true
	hr.batch.finding(health.PastFinding{At: f.At, Rule: f.Rule, Act: string(f.Act), Node: f.Node, Job: f.Job, Why: f.Why, Denied: f.Denied})
	hr.metrics.found(f.Rule, string(f.Act), f.Denied != "")
	level := hr.log.Info
	if f.Trips || f.Act == health.ActDrain {
		level = hr.log.Warn
	}
	level("health", "rule", f.Rule, "action", f.Act, "site", f.Node.Site, "node", f.Node.Name, "job", f.Job, "why", f.Why, "denied", f.Denied)
	if hr.notify != nil && (f.Trips || f.Act != health.ActSuspect) {
		hr.notify(f)
	}
	if entry, ok := auditOf(&f); ok {
		hr.batch.audit(entry)
	}
	if f.Denied != "" {
		return
	}
	switch f.Act {
	case health.ActDrain:
		hr.drain(f)
	case health.ActSuspect:
		if s := hr.sites.byName[f.Node.Site]; s != nil {
			hr.next = time.Time{}
			hr.nodes.show(s)
		}
	}
}

// auditOf is what the audit log is told of a finding: of drains and held jobs, done or denied, and of breakers.
func auditOf(f *health.Finding) (audit.Entry, bool) {
	e := audit.Entry{At: f.At.UTC(), Who: audit.Daemon, Why: f.Rule + ": " + f.Why, Result: f.Denied}
	switch {
	case f.Trips:
		e.Verb, e.Kind, e.Object, e.After = "trip", audit.Rule, f.Breaker(), "open"
	case f.Act == health.ActDrain:
		e.Verb, e.Kind, e.Object, e.After = "drain", audit.Node, f.Node.String(), string(federation.WishDrain)
	case f.Act == health.ActHold:
		e.Verb, e.Kind, e.Object = "hold", audit.Job, f.Job.String()
	default:
		return e, false
	}
	return e, true
}

// drain writes the wish for a drain, as an operator would, and has those run again who were the node's victims.
func (hr *healthRules) drain(f health.Finding) {
	now := hr.now().UTC()
	r := federation.NodeRecord{Node: f.Node, Wish: federation.WishDrain, Owner: healthOwner, Ticket: f.Rule, Reason: f.Why, Since: now}
	was := federation.NodeWish("")
	if n := hr.nodes.bySite[f.Node.Site]; n != nil {
		was = n.wanted[f.Node.Name].Wants(now)
	}
	if was == federation.WishDrain {
		return
	}
	hr.batch.node(r)
	hr.batch.nodeEvent(federation.NodeEvent{Node: f.Node, At: now, Who: healthOwner, From: string(was), To: string(federation.WishDrain),
		Wanted: true, Why: f.Rule + " " + f.Why})
	hr.nodes.take([]federation.NodeRecord{r})
	for _, id := range f.Victims {
		hr.batch.event(federation.Event{Job: id, At: now, Text: fmt.Sprintf("its failure was that of node %s, which rule %s has drained: it runs again", f.Node, f.Rule)})
		hr.batch.request(action.Request{Job: id, Kind: action.Requeue, Operator: true, Restarts: math.MaxInt32, At: now})
	}
}

// forgetEvery is how often what is too old is dropped.
const forgetEvery = 10 * time.Minute

// reconcile ends suspicions whose time has come, forgets what is old, and publishes what there is.
func (hr *healthRules) reconcile() {
	if now := hr.now(); !now.Before(hr.next) {
		hr.next = now.Add(forgetEvery)
		for _, s := range hr.sites.all {
			over, next := hr.engine.SuspicionsOver(s.Name, now)
			partOver, nextPart := hr.engine.Fabric.Over(s.Name, now)
			if over || partOver {
				hr.nodes.show(s)
				hr.report.changed = true
			}
			for _, at := range []time.Time{next, nextPart} {
				if !at.IsZero() && at.Before(hr.next) {
					hr.next = at
				}
			}
			if partOver {
				hr.write()
			}
		}
	}
	if now := hr.now(); !now.Before(hr.nextForget) {
		hr.nextForget = now.Add(forgetEvery)
		for id := range hr.engine.Jobs() {
			if hr.jobs.Of(id) == nil && hr.jobs.ended[id] == nil {
				hr.engine.Gone(id)
			}
		}
		hr.engine.Forget(now)
		hr.report.changed = true
		hr.write()
	}
	if now := hr.now(); hr.report.changed && !now.Before(hr.report.next) { // it is a copy of all that is remembered
		hr.report.changed, hr.report.next = false, now.Add(tellEvery)
		hr.report.to.Store(&health.Report{Rules: hr.engine.Rules(), Nodes: hr.engine.Nodes(), Breakers: hr.engine.Breakers(), Idle: hr.report.idle})
	}
}

// tellEvery is how often what the rules know is published.
const tellEvery = time.Second

func (hr *healthRules) due(sooner func(time.Time)) {
	sooner(hr.next)
	sooner(hr.nextForget)
	if hr.report.changed {
		sooner(hr.report.next)
	}
}

// avoid has the site leave out nodes that are suspected, and those on which the job has failed before. It is asked for nothing that the partition could
// not do without them, nor against the job's own word.
func (hr *healthRules) avoid(s *site, sub *federation.Submission) {
	if s.Seen == nil {
		return
	}
	avoid := map[string]bool{}
	for _, name := range hr.engine.Avoid(sub.Job.ID, s.Name) {
		avoid[name] = true
	}
	for _, name := range hr.engine.SuspectsAt(s.Name, hr.now()) {
		avoid[name] = true
	}
	if sub.Offer.Nodes > 1 {
		for i := range s.Seen.Nodes {
			if n := &s.Seen.Nodes[i]; n.BadPart != "" {
				avoid[n.Name] = true
			}
		}
	}
	if len(avoid) == 0 {
		return
	}
	asked, _ := hostlist.ExpandLoosely(sub.Job.Spec.NodeList)
	for _, name := range asked {
		delete(avoid, name)
	}
	excluded, _ := hostlist.ExpandLoosely(sub.Job.Spec.Exclude)
	left := 0
	for i := range s.Pools {
		p := &s.Pools[i]
		if p.Partition != sub.Partition || sub.Offer.Pool != "" && p.Name != sub.Offer.Pool {
			continue
		}
		for _, n := range p.Nodes {
			node := &s.Seen.Nodes[n]
			if !avoid[node.Name] && !slices.Contains(excluded, node.Name) && (node.Usable() || node.Rented != nil) {
				left++
			}
		}
	}
	if len(avoid) == 0 || left < max(sub.Offer.Nodes, 1) {
		return
	}
	spec := *sub.Job.Spec
	spec.Exclude = hostlist.Compress(append(excluded, slices.Sorted(maps.Keys(avoid))...))
	sub.Job.SetSpec(spec)
}

// Health is what the rules of health know now.
func (v *View) Health() *health.Report {
	if r := v.told.Load(); r != nil {
		return r
	}
	return &health.Report{}
}
