package health

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"fsub/federation"
)

// How failures and slowness of gangs are laid to a switch or block that they share.
//
// The last gangs of each site are remembered, with the switches above their nodes. For each part of the fabric that a
// failed gang has touched, what was seen is compared by two guesses: that gangs there fail as often as elsewhere, or
// that since some time they fail half of the time or nine times in ten (CUSUM, Page 1954). A part is blamed if the
// second guess is better by more than 2,000 times the number of parts, which chance makes it once in as many gangs on
// average at the most, and if no single node, and no other part beside it, explains it as well. What a gang is
// remembered for is not stored: after a restart it is learnt again. That a part is blamed is stored, as a breaker.

// RulePart lays failures of gangs to a part of the fabric that they share.
const RulePart = "bad-part"

const (
	partOdds   = 2000    // so much better than chance, for each part of the site
	partAhead  = 3       // and than any other part that is not above or below it; so much better a single node explains it
	partWithin = 50      // and than one within it
	mostGangs  = 1024    // remembered of a site
	mostOn     = 1 << 17 // nodes of all of these together
	firstGangs = 10      // gangs that are counted with before any was seen ...
	firstFails = 1       // ... and how many of these failed
	mostOfUser = 2       // failures of one user at a part that count: a user chooses where and how his jobs end
)

// gangRun is one run of a gang that has ended.
type gangRun struct {
	at         time.Time
	job        federation.JobID
	user, like string
	ran        time.Duration
	size       int // nodes
	failed     bool
	slow       bool
	blamed     bool // a part is blamed for it
	above      []string
	on         []string // nodes, in order
}

// Fabric remembers the gangs of all sites, and keeps gangs off parts that it blames: by breakers, which it shares with
// the engine.
type Fabric struct {
	rule     *Rule // nil: nothing is blamed
	rail     *Rule // likewise
	look     func(federation.NodeID) Standing
	nodes    *nodeBook
	touch    func(federation.NodeID) // what is remembered of a node is to be stored
	breakers map[string]*Breaker
	gangs    map[federation.SiteName]*gangBook
	changed  bool // a breaker is to be stored
}

// gangBook holds the last gangs of a site.
type gangBook struct {
	runs  []gangRun
	parts map[string]int // nodes below each part that a gang has touched
	on    int            // nodes of all runs
}

// add remembers a run, and forgets the oldest if there are too many.
func (b *gangBook) add(run gangRun) {
	b.runs = append(b.runs, run)
	b.on += len(run.on)
	for len(b.runs) > mostGangs || b.on > mostOn && len(b.runs) > 1 {
		b.on -= len(b.runs[0].on)
		b.runs = slices.Delete(b.runs, 0, 1)
	}
}

// PartBreaker names the breaker that keeps gangs off a part of a site.
func PartBreaker(site federation.SiteName, part string) string {
	return "part:" + string(site) + "/" + part
}

// IsPart reports whether a breaker is that of a part of the fabric.
func (b *Breaker) IsPart() bool { return strings.HasPrefix(b.Name, "part:") }

// Ended takes in the end of a gang, with whose failure it was, and says whether a part of the fabric is to blame.
func (fb *Fabric) Ended(x Ended, v Verdict) []Finding {
	if fb.rule == nil || fb.rule.Act == ActOff || len(x.Nodes) < 2 {
		return nil
	}
	run := gangRun{at: x.At, job: x.Job, user: x.User, like: x.Like, ran: x.Ran, size: len(x.Nodes), on: x.Nodes}
	late := false
	switch {
	case x.State == federation.Completed && len(x.Late) == 0:
	case v.Class == federation.ClassNode, v.Code == CodeExit, v.Code == CodeSignal:
		if run.failed = true; len(x.Blame) > 0 {
			run.on = x.Blame
		}
	case len(x.Late) > 0: // wherever it ended
		late, run.on = true, x.Late
	default:
		return nil // it tells nothing
	}
	run.on = slices.Sorted(slices.Values(run.on))
	b := fb.gangs[x.Site]
	if b == nil {
		b = &gangBook{parts: map[string]int{}}
		fb.gangs[x.Site] = b
	}
	all := 0
	for _, name := range run.on {
		is := fb.look(federation.NodeID{Site: x.Site, Name: name})
		all = is.Site
		for _, p := range is.Above {
			b.parts[p.Name] = p.Nodes
			if !slices.Contains(run.above, p.Name) {
				run.above = append(run.above, p.Name)
			}
		}
	}
	if len(run.above) == 0 {
		return nil // the site tells of no switches
	}
	run.slow = late || !run.failed && b.slow(&run)
	b.add(run)
	if !run.failed && !run.slow {
		return nil
	}
	if fb.blamed(x.Site, &run, x.At) {
		b.runs[len(b.runs)-1].blamed = true
		return nil
	}
	return fb.judge(b, &x, all)
}

// blamed reports whether gangs are kept off one of the parts above a gang's nodes, or off one of these for its rail.
func (fb *Fabric) blamed(site federation.SiteName, run *gangRun, now time.Time) bool {
	return slices.ContainsFunc(run.above, func(p string) bool { return fb.keptOff(site, p, now) }) ||
		slices.ContainsFunc(run.on, func(name string) bool { return fb.BadRail(federation.NodeID{Site: site, Name: name}, now) != "" })
}

// slow reports whether a gang took half as long again as five others of its kind and size.
func (b *gangBook) slow(run *gangRun) bool {
	var others []time.Duration
	for i := range b.runs {
		if r := &b.runs[i]; r.like == run.like && r.size == run.size && !r.failed {
			others = append(others, r.ran)
		}
	}
	if len(others) < 5 || run.ran < Early {
		return false
	}
	slices.Sort(others)
	return run.ran > others[len(others)/2]*3/2
}

// suspicion is what speaks against a part of the fabric, or a node.
type suspicion struct {
	part              string
	here, of, slow    int // gangs that failed or were slow there since it may have gone bad, and all there
	elsewhere, others int // the same of those elsewhere
	counted           int // of those that failed, as far as they count
	users             int // whose these were
	better            float64
	jobs              []federation.JobID // the last of them, newest first
}

// weigh compares the two guesses for the gangs that touch a part, for each time since which it may have been bad: the
// one that speaks most against it counts. A kind of jobs that has not done well elsewhere counts once, however often it
// failed: it may be the jobs. Of one user mostOfUser failures count, of whatever kinds. What was seen there before it was
// cleared does not count. touches tells which gangs touch it.
func (b *gangBook) weigh(part string, since, cleared time.Time, touches func(*gangRun) bool) suspicion {
	best := suspicion{part: part, better: math.Inf(-1)}
	well := map[string]bool{}
	var there []*gangRun
	for i := range b.runs {
		r := &b.runs[i]
		switch bad := r.failed || r.slow; {
		case !r.at.After(since) || bad && r.blamed:
		case touches(r):
			if r.at.After(cleared) {
				there = append(there, r)
			}
		case bad:
			best.elsewhere, best.others = best.elsewhere+1, best.others+1
		default:
			best.others++
			well[r.like] = true
		}
	}
	usual := min(max(float64(best.elsewhere+firstFails)/float64(best.others+firstGangs), .02), .5)
	now, users, seen := best, map[string]int{}, map[string]bool{}
	half, most := 0., 0.
	for _, r := range slices.Backward(there) {
		if now.of++; !r.failed && !r.slow {
			half, most = half+math.Log(.5/(1-usual)), most+math.Log(.1/(1-usual))
			continue
		}
		if now.here++; r.slow {
			now.slow++
		}
		if len(now.jobs) < 3 {
			now.jobs = append(now.jobs, r.job)
		}
		if users[r.user] < mostOfUser && (well[r.like] || !seen[r.like]) {
			users[r.user]++
			now.counted++
			half, most = half+math.Log(.5/usual), most+math.Log(.9/usual)
		}
		seen[r.like] = true
		now.users = len(users)
		high := max(half, most)
		if now.better = high + math.Log((math.Exp(half-high)+math.Exp(most-high))/2); now.better > best.better {
			best = now
			best.jobs = slices.Clone(now.jobs)
		}
	}
	return best
}

// judge looks for a part to blame after a gang has failed or was slow.
func (fb *Fabric) judge(b *gangBook, x *Ended, site int) []Finding {
	r, now, last := fb.rule, x.At, &b.runs[len(b.runs)-1]
	since := now.Add(-r.Within)
	cleared := func(part string) (t time.Time) {
		if k := fb.breakers[PartBreaker(x.Site, part)]; k != nil {
			t = k.Reset
		}
		return t
	}
	var best suspicion
	all := make([]suspicion, 0, len(last.above))
	for _, part := range last.above {
		s := b.weigh(part, since, cleared(part), func(g *gangRun) bool { return slices.Contains(g.above, part) })
		all = append(all, s)
		if best.part == "" || s.better > best.better || s.better == best.better && b.parts[s.part] < b.parts[best.part] {
			best = s
		}
	}
	best = b.smaller(best, all)
	enough := math.Log(partOdds * float64(max(len(b.parts), 1)))
	if best.counted < r.Jobs || best.users < 2 || best.better < enough {
		return nil
	}
	for i := range all {
		if s := &all[i]; s.part != best.part && !b.nested(s.part, best.part) && best.better-s.better < math.Log(partAhead) {
			return nil // it may as well be that one
		}
	}
	for _, node := range last.on {
		has := func(g *gangRun) bool {
			_, is := slices.BinarySearch(g.on, node)
			return is
		}
		if s := b.weigh(node, since, cleared(best.part), has); s.better-best.better > math.Log(partAhead) {
			return nil // it is rather that node
		}
	}
	f := Finding{At: now, Rule: r.Name, Act: r.Act, Pool: string(x.Site), Why: best.why()}
	f.Node = federation.NodeID{Site: x.Site, Name: best.part}
	if most := 2 * b.parts[best.part]; r.Act != ActNotify && most > site {
		f.Denied = fmt.Sprintf("it is above more than half of the %d nodes of %s", site, x.Site)
	}
	fb.blame(b, &f)
	return []Finding{f}
}

// smaller is the smallest part within the one that seems worst that explains nearly as much: one failure elsewhere in a
// block, by chance, makes no bad block of a bad leaf.
func (b *gangBook) smaller(worst suspicion, all []suspicion) suspicion {
	best := worst
	for i := range all {
		s := &all[i]
		less := b.parts[s.part] < b.parts[worst.part] && b.nested(s.part, worst.part) && worst.better-s.better < math.Log(partWithin)
		if less && (best.part == worst.part || s.better > best.better) {
			best = *s
		}
	}
	return best
}

// nested reports whether of two parts all gangs that touch one touch the other: one is above the other, as far as can
// be seen.
func (b *gangBook) nested(p, q string) bool {
	within := func(p, q string) bool {
		return !slices.ContainsFunc(b.runs, func(g gangRun) bool { return slices.Contains(g.above, p) && !slices.Contains(g.above, q) })
	}
	return b.parts[p] != b.parts[q] && (within(p, q) || within(q, p))
}

// blame keeps gangs off a part, unless that is not to be done, and marks the gangs that it is blamed for.
func (fb *Fabric) blame(b *gangBook, f *Finding) {
	part := f.Node.Name
	for i := range b.runs {
		if g := &b.runs[i]; (g.failed || g.slow) && slices.Contains(g.above, part) {
			g.blamed = true
		}
	}
	if fb.rule.Act == ActNotify || f.Denied != "" {
		return
	}
	name := PartBreaker(f.Node.Site, part)
	k := fb.breakers[name]
	if k == nil {
		k = &Breaker{Name: name, Drains: map[string][]drains{}}
		fb.breakers[name] = k
	}
	k.Open, k.Why, k.Until = f.At, f.Why, f.At.Add(fb.rule.For)
	f.Until, f.Trips = k.Until, true
	fb.changed = true
}

// Breaker names the breaker that a finding has opened: that of its rule, or of the part of the fabric that is blamed.
func (f *Finding) Breaker() string {
	if f.Rule == RulePart || f.Rule == RuleRail {
		return PartBreaker(f.Node.Site, f.Node.Name)
	}
	return f.Rule
}

func (s *suspicion) why() string {
	what := "failed"
	if s.slow > 0 {
		what = fmt.Sprintf("failed or were slow (%d)", s.slow)
	}
	jobs := make([]string, len(s.jobs))
	for i, id := range s.jobs {
		jobs[i] = id.String()
	}
	return fmt.Sprintf("%d of %d gangs below it %s (last: %s), elsewhere %d of %d; chance makes that 1 time in %.0f", s.here, s.of, what, strings.Join(jobs, " "), s.elsewhere, s.others,
		math.Exp(min(s.better, 20)))
}

// keptOff reports whether gangs are kept off a part of a site now.
func (fb *Fabric) keptOff(site federation.SiteName, part string, now time.Time) bool {
	return fb.isOpen(PartBreaker(site, part), now)
}

// isOpen reports whether the breaker of that name is open, and its time is not over.
func (fb *Fabric) isOpen(name string, now time.Time) bool {
	b := fb.breakers[name]
	return b != nil && !b.Open.IsZero() && now.Before(b.Until)
}

// KeptOff returns the parts of a site that gangs are kept off now, in order of name.
func (fb *Fabric) KeptOff(site federation.SiteName, now time.Time) (parts []string) {
	prefix := PartBreaker(site, "")
	for name, b := range fb.breakers {
		if part, ok := strings.CutPrefix(name, prefix); ok && !b.Open.IsZero() && now.Before(b.Until) {
			parts = append(parts, part)
		}
	}
	slices.Sort(parts)
	return parts
}

// Over closes the breakers of parts of a site whose time is over, and reports whether there were any, and when the next
// one's is; zero: there is none. What was seen there still counts: one gang more that fails is enough.
func (fb *Fabric) Over(site federation.SiteName, now time.Time) (some bool, next time.Time) {
	prefix := PartBreaker(site, "")
	for _, name := range slices.Sorted(maps.Keys(fb.breakers)) {
		b := fb.breakers[name]
		if b.Open.IsZero() || !strings.HasPrefix(name, prefix) {
			continue
		}
		if !now.Before(b.Until) && !fb.lasts(b, site, now) {
			b.close()
			some, fb.changed = true, true
			fb.unblame(site, strings.TrimPrefix(name, prefix))
		} else if next.IsZero() || b.Until.Before(next) {
			next = b.Until
		}
	}
	return some, next
}

// unblame has the gangs count again that a part was blamed for.
func (fb *Fabric) unblame(site federation.SiteName, part string) {
	b := fb.gangs[site]
	if b == nil {
		return
	}
	cleared := fb.breakers[PartBreaker(site, part)].Reset
	for i := range b.runs {
		if g := &b.runs[i]; g.at.After(cleared) && slices.Contains(g.above, part) {
			g.blamed = false
		}
	}
}
