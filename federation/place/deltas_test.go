package place

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// Whatever a World is told, and in whatever order, its plan is that of a new World of the same content; and who acts on what Decide says knows of
// each job what the plan says.
func TestWorldPlansAsANewOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawWorld(t, true)
		lines.snapshot()
		policy := Policy{Backlog: rapid.SampledFrom([]int{0, -1, 1}).Draw(t, "backlog")}
		if rapid.Bool().Draw(t, "bounds") {
			policy.MaxLook, policy.MaxBind = rapid.IntRange(1, 12).Draw(t, "max look"), rapid.IntRange(1, 8).Draw(t, "max bind")
			policy.Reservations = rapid.IntRange(1, 3).Draw(t, "reservations")
		}
		policy.MaxOffers = rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "offers told")
		d := &deltas{t: t, lines: lines, w: NewWorld(policy, 1), policy: policy, sites: lines.sites, said: map[federation.JobID]decision.Decision{}, expected: map[federation.JobID]*decision.Expected{}, order: &userOrder{sign: 1}}
		d.w.SetOrder(d.order)
		d.w.queue.long = rapid.SampledFrom([]int{0, 2, 4}).Draw(t, "jobs in a chunk")
		d.w.SetTime(lines.now)
		for _, site := range lines.sites {
			d.w.SetSite(site)
		}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			for range rapid.IntRange(1, 4).Draw(t, "deltas") {
				d.draw()
			}
			d.check()
		}
	})
}

// The same where next to nothing is free and jobs of two groups stand among each other: most of them are decided about by the chunk, and some are to be looked at again because a job
// among them holds nodes, or is the last one that the plan may be about.
func TestGroupsPlanAsANewWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := newWorld()
		lines.read(&failer{T: t}, `
			site s0
			partition main default nodes=n[1-3]
			partition short nodes=n[2-3],m[1-3]
			nodes n[1-3] cpus=16 mem=64000
			nodes m[1-3] cpus=16 mem=64000
			running n[1-3] cpus=14 mem=400 end=40m
			running m[1-3] cpus=14 mem=400 end=90m`)
		lines.snapshot()
		policy := Policy{Backlog: -1, Reservations: rapid.IntRange(1, 2).Draw(t, "reservations"), MaxLook: rapid.SampledFrom([]int{0, 0, 9, 25}).Draw(t, "max look")}
		d := &deltas{t: t, lines: lines, w: NewWorld(policy, 1), policy: policy, sites: lines.sites, said: map[federation.JobID]decision.Decision{}, expected: map[federation.JobID]*decision.Expected{},
			order: &userOrder{sign: 1, apart: true}, few: true}
		d.w.SetOrder(d.order)
		d.w.queue.long = rapid.IntRange(2, 4).Draw(t, "jobs in a chunk")
		d.w.SetTime(lines.now)
		d.w.SetSite(lines.sites[0])
		d.add()
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			for range rapid.IntRange(1, 3).Draw(t, "deltas") {
				d.do(rapid.SampledFrom([]string{"job", "jobs", "drop", "change", "time", "use", "carry out", "order", "groups", "groups", "limits"}).Draw(t, "delta"))
			}
			d.check()
		}
	})
}

// The same where many persons share the shapes of their jobs: their limits and rights change again and again, and sites leave and join.
func TestPersonsPlanAsANewWorld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := newWorld()
		for _, name := range []string{"s0", "s1", "s2"} {
			lines.read(&failer{T: t}, strings.ReplaceAll(`
				site SITE
				partition main default nodes=SITE[1-3]
				partition short nodes=SITE[3-4]
				nodes SITE[1-4] cpus=16 mem=64000
				running SITE[1-4] cpus=14 mem=400 end=40m`, "SITE", name))
		}
		lines.snapshot()
		policy := Policy{Backlog: -1, Reservations: rapid.IntRange(1, 2).Draw(t, "reservations"), MaxLook: rapid.SampledFrom([]int{0, 0, 9, 25}).Draw(t, "max look")}
		d := &deltas{t: t, lines: lines, w: NewWorld(policy, 1), policy: policy, sites: lines.sites, said: map[federation.JobID]decision.Decision{}, expected: map[federation.JobID]*decision.Expected{},
			order: &userOrder{sign: 1, apart: true}, few: true, persons: testPersons}
		d.w.SetOrder(d.order)
		d.w.queue.long = rapid.IntRange(2, 8).Draw(t, "jobs in a chunk")
		d.w.SetTime(lines.now)
		for _, site := range lines.sites {
			d.w.SetSite(site)
		}
		d.add()
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			for range rapid.IntRange(1, 3).Draw(t, "deltas") {
				d.do(rapid.SampledFrom([]string{"job", "jobs", "jobs", "drop", "change", "time", "use", "carry out", "claim", "groups", "limits", "limits", "limits", "rights", "leave", "join"}).Draw(t, "delta"))
			}
			d.check()
		}
	})
}

// deltas tells a World what comes.
type deltas struct {
	t      *rapid.T
	lines  *world
	w      *World
	policy Policy
	sites  []*federation.Site
	jobs   []*federation.Job
	bound  []federation.Bound
	at     []federation.SiteName // of each of bound
	last   int
	said   map[federation.JobID]decision.Decision
	order  *userOrder
	// expected is how long jobs run, of those of which it was said.
	expected map[federation.JobID]*decision.Expected
	few      bool // kinds of jobs
	persons  []who
	left     []*federation.Site // the federation
}

// userOrder has the users of a test be groups, or one of them.
type userOrder struct {
	sign   int64
	apart  bool
	counts [len(testUsers)]int64
}

// testUsers are drawJob's.
var testUsers = [...]string{"alice", "bob"}

// testPersons are whose jobs those of [TestPersonsPlanAsANewWorld] are.
var testPersons = []who{{user: "alice"}, {user: "alice", account: "ml"}, {user: "alice", account: "ml", qos: "high"}, {user: "bob"}, {user: "bob", account: "ml"}, {user: "carol", account: "ml"},
	{user: "carol", account: "bio", qos: "high"}, {user: "dave", account: "bio"}}

func (o *userOrder) Of(j *federation.Job, _ *decision.Expected) (int, int64) {
	if !o.apart {
		return 0, o.sign * Priority(j)
	}
	return max(slices.Index(testUsers[:], j.User), 0), o.sign * Priority(j)
}

func (o *userOrder) Group(i int) int64 { return o.counts[i] }

func (o *userOrder) regroup(t *rapid.T) {
	for i := range o.counts {
		o.counts[i] = int64(rapid.SampledFrom([]int{0, 1, 2, -10}).Draw(t, "what a group counts"))
	}
}

func (d *deltas) draw() {
	d.do(rapid.SampledFrom([]string{"job", "job", "job", "jobs", "drop", "change", "time", "look", "use", "use", "state", "price", "speed", "speed", "claim", "release", "carry out", "order", "groups", "groups", "fault", "limits"}).Draw(d.t, "delta"))
}

func (d *deltas) do(what string) {
	t := d.t
	switch what {
	case "job":
		d.add()
	case "jobs":
		for range rapid.SampledFrom([]int{1, 4, 12, 40}).Draw(t, "jobs like others") {
			d.again()
		}
	case "drop":
		if len(d.jobs) > 0 {
			d.drop(rapid.IntRange(0, len(d.jobs)-1).Draw(t, "which"))
		}
	case "change":
		if len(d.jobs) > 0 {
			i := rapid.IntRange(0, len(d.jobs)-1).Draw(t, "which")
			j := *d.jobs[i]
			j.Priority = uint32(rapid.IntRange(0, 1).Draw(t, "priority"))
			spec := *j.Spec
			spec.TimeLimit = time.Duration(rapid.IntRange(1, 3).Draw(t, "limit")) * 20 * time.Minute
			j.SetSpec(spec)
			d.jobs[i] = &j
			d.tell(&j)
		}
	case "time":
		d.lines.now = d.lines.now.Add(time.Duration(rapid.SampledFrom([]int{1, 30, 400, 3000}).Draw(t, "seconds")) * time.Second)
		d.w.SetTime(d.lines.now)
	case "speed":
		d.changeSite(what)
	case "limits":
		for range rapid.IntRange(1, 3).Draw(t, "sites") {
			d.changeSite("limit")
		}
	case "rights":
		d.changeSite(what)
	case "leave":
		d.leave()
	case "join":
		if len(d.left) > 0 {
			site := d.left[0]
			d.left, d.sites = d.left[1:], append(d.sites, site)
			d.w.SetSite(site)
		}
	case "claim":
		if len(d.jobs) > 0 {
			d.claim(rapid.IntRange(0, len(d.jobs)-1).Draw(t, "which"), d.sites[rapid.IntRange(0, len(d.sites)-1).Draw(t, "where")].Name)
		}
	case "release":
		if n := len(d.bound); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(t, "which")
			t.Logf("release: job %d at %s", d.bound[i].Job.ID, d.at[i])
			d.w.Release(d.at[i], d.bound[i].Job.ID)
			d.bound, d.at = slices.Delete(d.bound, i, i+1), slices.Delete(d.at, i, i+1)
		}
	case "order":
		d.order.sign = int64(rapid.SampledFrom([]int{1, -1}).Draw(t, "sign"))
		d.order.apart = rapid.Bool().Draw(t, "users are groups")
		d.order.regroup(t)
		d.w.Reorder()
	case "groups":
		d.order.regroup(t)
		d.w.Regroup()
	case "carry out":
		for _, dec := range d.w.Decide() {
			if i := slices.IndexFunc(d.jobs, func(j *federation.Job) bool { return j.ID == dec.Job }); i >= 0 && dec.Bind {
				d.claim(i, dec.Offers[0].Site)
			} else {
				d.said[dec.Job] = dec
			}
		}
	case "fault":
		left := rapid.IntRange(0, 5).Draw(t, "jobs before it")
		d.w.Watch(func(*federation.Job) {
			if left--; left < 0 {
				panic("planted")
			}
		})
		if f := d.w.Guard(d.hear); (f != nil) != (left < 0) {
			t.Fatalf("%d jobs were left, the fault is %v", left, f)
		}
		d.w.Watch(nil)
	default:
		d.drawSite()
	}
}

// hear takes down what Decide says.
func (d *deltas) hear() {
	for _, dec := range d.w.Decide() {
		d.said[dec.Job] = dec
	}
}

func (d *deltas) add() {
	d.last++
	id := d.last
	if rapid.IntRange(0, 3).Draw(d.t, "of a middle number") == 0 {
		id = 1000 - d.last
	}
	j := d.job(id)
	j.Priority = uint32(rapid.IntRange(0, 2).Draw(d.t, "priority"))
	if rapid.IntRange(0, 3).Draw(d.t, "task") == 0 {
		j.Part = &federation.ArrayPart{Array: federation.JobID(rapid.IntRange(1, 3).Draw(d.t, "array")), Index: d.last}
	}
	d.jobs = append(d.jobs, j)
	d.tell(j)
}

// job is any job, or one of few kinds.
func (d *deltas) job(id int) *federation.Job {
	if !d.few {
		return drawJob(d.t, d.lines, id)
	}
	p := d.person()
	line := fmt.Sprintf("%d %s -p%s -N%d -c%d -t%dm", id, p.user, rapid.SampledFrom([]string{"main", "main", "main", "main,short", "short"}).Draw(d.t, "partition"),
		rapid.IntRange(1, 2).Draw(d.t, "nodes"), rapid.SampledFrom([]int{1, 4, 16}).Draw(d.t, "cpus"), rapid.SampledFrom([]int{5, 120}).Draw(d.t, "limit"))
	d.t.Log("job "+line, p)
	j := d.lines.job(&failer{T: d.t}, split(line))
	d.give(j, p)
	return j
}

// person is whose a job is to be.
func (d *deltas) person() who {
	if d.persons != nil {
		return rapid.SampledFrom(d.persons).Draw(d.t, "person")
	}
	return who{user: rapid.SampledFrom(testUsers[:]).Draw(d.t, "user")}
}

// give has a job be that person's, where persons are drawn.
func (d *deltas) give(j *federation.Job, p who) {
	j.User = p.user
	if d.persons != nil {
		spec := *j.Spec
		spec.Account, spec.QOS = p.account, p.qos
		j.SetSpec(spec)
	}
}

// leave has a site leave the federation, with all that it holds.
func (d *deltas) leave() {
	if len(d.sites) < 2 {
		return
	}
	i := rapid.IntRange(0, len(d.sites)-1).Draw(d.t, "which site")
	gone := d.sites[i]
	d.left, d.sites = append(d.left, gone), slices.Delete(slices.Clone(d.sites), i, i+1)
	d.w.KeepSites(func(name federation.SiteName) bool { return name != gone.Name })
	for i := len(d.at) - 1; i >= 0; i-- {
		if d.at[i] == gone.Name {
			d.bound, d.at = slices.Delete(d.bound, i, i+1), slices.Delete(d.at, i, i+1)
		}
	}
}

// again adds a job like one that is there.
func (d *deltas) again() {
	if len(d.jobs) == 0 {
		return
	}
	j := *d.jobs[rapid.IntRange(0, len(d.jobs)-1).Draw(d.t, "like")]
	d.last++
	j.ID, j.Part = federation.JobID(d.last), nil
	d.give(&j, d.person())
	d.jobs = append(d.jobs, &j)
	d.w.SetJob(Waiting{Job: &j})
}

func (d *deltas) tell(j *federation.Job) {
	q := Waiting{Job: j}
	if j.Part != nil {
		q.Place = j.Part.Array
	}
	if rapid.IntRange(0, 9).Draw(d.t, "refused") == 0 {
		name := d.sites[0].Name
		q.Refused = map[federation.SiteName]decision.Rejection{name: {Reason: reasons.Refused, Detail: "no"}}
	}
	if delete(d.expected, j.ID); rapid.IntRange(0, 2).Draw(d.t, "expected") == 0 {
		p50 := time.Duration(rapid.SampledFrom([]int{2, 4, 60, 150}).Draw(d.t, "p50")) * time.Minute
		q.Expected = &decision.Expected{P50: p50, P90: p50 * time.Duration(rapid.IntRange(1, 3).Draw(d.t, "p90"))}
		d.expected[j.ID] = q.Expected
	}
	d.w.SetJob(q)
	delete(d.said, j.ID)
}

func (d *deltas) drop(i int) {
	d.w.DropJob(d.jobs[i].ID)
	delete(d.said, d.jobs[i].ID)
	d.jobs = slices.Delete(d.jobs, i, i+1)
}

func (d *deltas) claim(i int, site federation.SiteName) {
	d.t.Logf("claim: job %d at %s", d.jobs[i].ID, site)
	b := federation.Bound{Job: d.jobs[i], Units: 1, Since: d.lines.now}
	d.w.Claim(site, b)
	d.bound, d.at = append(d.bound, b), append(d.at, site)
	d.drop(i)
}

func (d *deltas) drawSite() {
	d.changeSite(rapid.SampledFrom([]string{"look", "use", "use", "use", "state", "price", "speed", "answer", "limit", "outlook"}).Draw(d.t, "what"))
}

func (d *deltas) changeSite(what string) {
	t := d.t
	i := rapid.IntRange(0, len(d.sites)-1).Draw(t, "site")
	site := *d.sites[i]
	switch what {
	case "look":
		if site.Seen != nil {
			obs := *site.Seen
			obs.At = d.lines.now
			site.Seen = &obs
		}
	case "use":
		if site.Seen != nil {
			site.Seen = d.used(site.Seen)
		}
	case "state":
		site.State = rapid.SampledFrom([]federation.FedState{federation.FedActive, federation.FedActive, federation.FedDrain}).Draw(t, "state")
	case "limit":
		site.Limited = nil
		for range rapid.IntRange(0, 2).Draw(t, "reached") {
			if d.persons != nil {
				p := rapid.SampledFrom(d.persons).Draw(t, "whose")
				site.Limited = append(site.Limited, federation.Limited{User: p.user, Account: p.account, QOS: p.qos})
				continue
			}
			site.Limited = append(site.Limited, federation.Limited{User: rapid.SampledFrom([]string{"alice", "bob"}).Draw(t, "of"), Account: rapid.SampledFrom([]string{"", "ml"}).Draw(t, "account")})
		}
	case "rights":
		if site.Seen != nil {
			obs := *site.Seen
			obs.Associations = nil
			if rapid.Bool().Draw(t, "associations") {
				obs.Associations = map[string][]federation.Association{}
				for _, p := range d.persons {
					if rapid.IntRange(0, 2).Draw(t, "known there") > 0 {
						obs.Associations[p.user] = append(obs.Associations[p.user], federation.Association{Account: cmp.Or(p.account, "default"), Default: p.account == "", QOS: rapid.SampledFrom([][]string{{"normal"}, {"normal", "high"}}).Draw(t, "qos")})
					}
				}
			}
			site.Seen = &obs
		}
	case "outlook":
		site.Outlook = nil
		if rapid.Bool().Draw(t, "foreseen") {
			site.Outlook = &told{Foreseen: decision.Foreseen{P50: time.Duration(rapid.IntRange(0, 90).Draw(t, "wait")) * time.Minute, P90: 2 * time.Hour}, share: float64(rapid.IntRange(0, 4).Draw(t, "share")) / 4}
		}
	case "answer":
		site.Answering = rapid.Bool().Draw(t, "answers")
	case "speed":
		speed := rapid.SampledFrom([]float64{0, 0.5, 3}).Draw(t, "speed")
		site.Speed = map[string]float64{"": speed, "h100": speed}
	case "price":
		site.Prices = maps.Clone(site.Prices)
		if site.Prices == nil {
			site.Prices = map[string]float64{}
		}
		site.Prices["cpu"] = float64(rapid.IntRange(0, 3).Draw(t, "price")) / 100
	}
	site.Pools = nil
	d.sites[i] = &site
	d.w.SetSite(&site)
}

// used is an observation of the same site in which other things run.
func (d *deltas) used(was *federation.Observation) *federation.Observation {
	t, obs := d.t, *was
	obs.Nodes, obs.Running = slices.Clone(was.Nodes), slices.Clone(was.Running)
	if len(obs.Running) > 0 && rapid.Bool().Draw(t, "ends") {
		i := rapid.IntRange(0, len(obs.Running)-1).Draw(t, "which")
		obs.Running = slices.Delete(obs.Running, i, i+1)
	}
	if rapid.Bool().Draw(t, "starts") {
		n := obs.Nodes[rapid.IntRange(0, len(obs.Nodes)-1).Draw(t, "node")].Name
		j := federation.RunningJob{Job: federation.JobID(rapid.IntRange(1, 9).Draw(t, "job")), Nodes: []string{n}, CPUs: 1, Mem: 1000,
			End: d.lines.now.Add(time.Duration(rapid.IntRange(-1, 50).Draw(t, "end")) * time.Minute)}
		if len(d.bound) > 0 && rapid.Bool().Draw(t, "of ours") {
			j.Job = d.bound[0].Job.ID
		}
		obs.Running = append(obs.Running, j)
		slices.SortStableFunc(obs.Running, func(a, b federation.RunningJob) int { return int(a.Job) - int(b.Job) })
	}
	if rapid.IntRange(0, 3).Draw(t, "others come and go") == 0 {
		obs.Waiting = []federation.WaitingJob{{Job: 7, Ours: rapid.Bool().Draw(t, "ours"), Stake: federation.Stake{Partition: rapid.SampledFrom([]string{"main", "short"}).Draw(t, "partition")}}}
	}
	if rapid.IntRange(0, 3).Draw(t, "many go up or down") == 0 {
		for i := range obs.Nodes {
			obs.Nodes[i].State = []string{rapid.SampledFrom([]string{"DOWN", "IDLE", "MIXED"}).Draw(t, "state of each")}
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "changed nodes") {
		n := &obs.Nodes[rapid.IntRange(0, len(obs.Nodes)-1).Draw(t, "node")]
		switch rapid.IntRange(0, 5).Draw(t, "change") {
		case 0:
			n.State = []string{rapid.SampledFrom([]string{"DOWN", "IDLE", "DRAIN"}).Draw(t, "node's state")}
		case 1:
			n.State = []string{"MIXED", "COMPLETING"}
		case 2:
			n.Mem += 1000
		default:
			n.CPUsUsed = min(n.CPUs, rapid.IntRange(0, 16).Draw(t, "cpus"))
			n.MemUsed = sbatch.MemMiB(rapid.IntRange(0, 20).Draw(t, "memory") * 1000)
			if n.GRES = slices.Clone(n.GRES); len(n.GRES) > 0 {
				n.GRES[0].Used = rapid.IntRange(0, n.GRES[0].Total).Draw(t, "gpus")
			}
		}
	}
	return &obs
}

func (d *deltas) check() {
	s := d.w.Snapshot()
	d.inOrder(s.Jobs)
	anew := d.anew(&s, d.policy)
	want, got := anew.Plan(), d.w.Plan()
	d.tellsTheFirst(&s, want.Decisions)
	if len(got.Decisions) != len(want.Decisions) {
		d.t.Fatalf("%d decisions, a new World makes %d", len(got.Decisions), len(want.Decisions))
	}
	for i := range got.Decisions {
		if !reflect.DeepEqual(got.Decisions[i], want.Decisions[i]) {
			d.t.Fatalf("decision %d is\n%s, a new World says\n%s", i, tellAll(got.Decisions[i]), tellAll(want.Decisions[i]))
		}
	}
	if want, got := starts(anew), starts(d.w); !reflect.DeepEqual(got, want) {
		d.t.Fatalf("the next to start are\n%+v, a new World says\n%+v", got, want)
	}
	d.hear()
	for _, w := range want.Decisions {
		if said, ok := d.said[w.Job]; !ok || said.Bind != w.Bind || said.Reason != w.Reason {
			d.t.Fatalf("job %d: Decide has said %s, the plan is %s", w.Job, tellAll(said), tellAll(w))
		}
	}
	d.t.Log("step: the same")
}

// anew is a new World of the same content.
func (d *deltas) anew(s *federation.Snapshot, policy Policy) *World {
	w := newWorldOf(s, policy)
	for q := range w.queue.some() {
		q.expected = d.expected[q.job.ID]
	}
	return w
}

// tellsTheFirst checks that decisions that tell not all offers are those that tell all, but for the dearest. When something could start is known within a plan as of when it
// was asked first: so behind a job that is bound they may differ.
func (d *deltas) tellsTheFirst(s *federation.Snapshot, told []decision.Decision) {
	policy := d.policy
	if policy.MaxOffers == 0 {
		return
	}
	policy.MaxOffers = 0
	all := d.anew(s, policy).Plan().Decisions
	if len(all) != len(told) {
		d.t.Fatalf("%d decisions, %d where all offers are told", len(told), len(all))
	}
	for i := range all {
		a := &all[i]
		if a.Offers = a.Offers[:min(len(a.Offers), d.policy.MaxOffers)]; !reflect.DeepEqual(*a, told[i]) {
			d.t.Fatalf("decision %d tells\n%s, all are\n%s", i, tellAll(told[i]), tellAll(*a))
		}
		if a.Bind {
			return
		}
	}
}

// inOrder checks that a queue is in order.
func (d *deltas) inOrder(jobs []*federation.Job) {
	of := func(j *federation.Job) turn {
		group, n := d.order.Of(j, nil)
		at := turn{priority: n + d.order.Group(group), place: j.ID}
		if j.Part != nil {
			at.place, at.index = j.Part.Array, int32(j.Part.Index)
		}
		return at
	}
	if len(jobs) != len(d.jobs) || !slices.IsSortedFunc(jobs, func(a, b *federation.Job) int { return of(a).compare(of(b)) }) {
		d.t.Fatalf("%d jobs of %d are in the order %v", len(jobs), len(d.jobs), jobs)
	}
}

// starts are what Next says.
func starts(w *World) map[federation.JobID]decision.Offer {
	all := map[federation.JobID]decision.Offer{}
	for j, o := range w.Next() {
		all[j.ID] = *o
	}
	return all
}

func tellAll(d decision.Decision) string {
	return fmt.Sprintf("%+v\n  %s", d, Explain(&federation.Job{ID: d.Job}, withOffer(d)))
}

func withOffer(d decision.Decision) decision.Decision {
	if len(d.Offers) == 0 {
		d.Bind = false
	}
	return d
}
