package health

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"fsub/federation"
)

// Breaker counts what a rule, or all of them together at a site, has drained, and is open once it wanted more than it may. It stays open until an operator
// resets it: what made it open is still there. That of a part of the fabric keeps gangs off it while it is open.
type Breaker struct {
	Name   string              `json:"name"` // of the rule; or "site:NAME"; or "part:SITE/SWITCH", or of a rail "part:SITE/SWITCH:PORT"
	Drains map[string][]drains `json:"drains,omitempty"`
	Rail   bool                `json:"rail,omitempty"` // it is that of a rail
	Open   time.Time           `json:"open,omitzero"`  // since when; zero: it is closed
	Why    string              `json:"why,omitempty"`
	Until  time.Time           `json:"until,omitzero"` // that of a part closes by itself then; zero: only an operator closes it
	Reset  time.Time           `json:"reset,omitzero"` // when it was reset last: what was seen before counts no more
}

func (b *Breaker) close() { b.Open, b.Why, b.Until = time.Time{}, "", time.Time{} }

type drains struct {
	At   time.Time         `json:"at"`
	Node federation.NodeID `json:"node"`
}

// siteBreaker names the breaker that counts all automatic drains at a site.
func siteBreaker(s federation.SiteName) string { return "site:" + string(s) }

func (e *Engine) breaker(name string) *Breaker {
	b := e.breakers[name]
	if b == nil {
		b = &Breaker{Name: name, Drains: map[string][]drains{}}
		e.breakers[name] = b
	}
	return b
}

// hour is the span that limits are for.
const hour = time.Hour

// count is how many different nodes were drained within the last hour.
func (b *Breaker) count(pool string, now time.Time) int {
	b.Drains[pool] = slices.DeleteFunc(b.Drains[pool], func(d drains) bool { return now.Sub(d.At) >= hour })
	return len(b.Drains[pool])
}

// limit is how many nodes of a pool a rule may drain within an hour.
func (r *Rule) limit(size int) int { return min(r.Limit, max(1, size/10)) }

// siteLimit is how many nodes of a site all rules together may drain within an hour.
func siteLimit(size int) int { return max(2, size/20) }

// drain drains a node, if limits and breakers let it.
func (e *Engine) drain(r *Rule, n *NodeState, f Finding, by []*Fail) []Finding {
	is := e.look(n.Node)
	if is.Out {
		return nil
	}
	mine, all := e.breaker(r.Name), e.breaker(siteBreaker(n.Node.Site))
	for _, b := range []*Breaker{mine, all} {
		if !b.Open.IsZero() {
			return e.deny(r, n, f, fmt.Sprintf("the breaker %s is open since %s", b.Name, b.Open.UTC().Format(time.RFC3339)))
		}
	}
	pool := is.Pool
	if limit := r.limit(is.Size); mine.count(pool, f.At) >= limit {
		return append(e.deny(r, n, f, fmt.Sprintf("the rule has drained %d nodes of %s within the hour", limit, pool)),
			e.trip(mine, f, fmt.Sprintf("rule %s wants to drain more than %d nodes of %s within an hour", r.Name, limit, pool)))
	}
	if limit := siteLimit(is.Site); all.count("", f.At) >= limit {
		return append(e.deny(r, n, f, fmt.Sprintf("%d nodes of %s were drained within the hour", limit, n.Node.Site)),
			e.trip(all, f, fmt.Sprintf("the rules want to drain more than %d nodes of %s within an hour", limit, n.Node.Site)))
	}
	mine.Drains[pool] = append(mine.Drains[pool], drains{f.At, n.Node})
	all.Drains[""] = append(all.Drains[""], drains{f.At, n.Node})
	e.changed.Breakers = true
	n.Drain, n.Denied, n.Until, n.Rule = r.Name, "", time.Time{}, ""
	e.touchNode(n.Node)
	if r.Innocent {
		f.Victims = n.victims(by[0].At)
	}
	return []Finding{f}
}

// victims are jobs that ended with their early deaths on a node that was to blame.
func (n *NodeState) victims(since time.Time) (ids []federation.JobID) {
	add := func(at time.Time, job federation.JobID) {
		if at.After(n.Lived) && at.After(since.Add(-hour)) {
			ids = append(ids, job)
		}
	}
	for _, d := range n.Died {
		add(d.At, d.Job)
	}
	for i := range n.Fails {
		if f := &n.Fails[i]; f.mayBeVictim() {
			add(f.At, f.Job)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// mayBeVictim reports whether a job that may run again has ended with this early death.
func (f *Fail) mayBeVictim() bool { return f.Ended && !f.Guilty && isEarly(f.Code) }

// deny says once of a node what is not done.
func (e *Engine) deny(r *Rule, n *NodeState, f Finding, because string) []Finding {
	if n.Denied == r.Name {
		return nil
	}
	n.Denied = r.Name
	e.touchNode(n.Node)
	f.Denied = because
	return []Finding{f}
}

func (e *Engine) trip(b *Breaker, f Finding, why string) Finding {
	b.Open, b.Why = f.At, why
	e.changed.Breakers = true
	return Finding{At: f.At, Rule: b.Name, Act: ActNotify, Pool: f.Pool, Trips: true, Why: "breaker open: " + why + "; it drains nothing more before: fed health reset " + b.Name}
}

// Breakers are those that have counted anything, by name; copies.
func (e *Engine) Breakers() []Breaker {
	var out []Breaker
	for _, name := range slices.Sorted(maps.Keys(e.breakers)) {
		b := *e.breakers[name]
		b.Drains = map[string][]drains{}
		for pool, list := range e.breakers[name].Drains {
			b.Drains[pool] = slices.Clone(list)
		}
		out = append(out, b)
	}
	return out
}

// Reset closes breakers, all of them if no name is given, and returns which were open. What was seen before is not acted on again.
func (e *Engine) Reset(name string, now time.Time) (closed []string) {
	for _, b := range e.breakers {
		if b.Open.IsZero() || name != "" && b.Name != name {
			continue
		}
		b.close()
		b.Reset, b.Drains = now, map[string][]drains{}
		closed = append(closed, b.Name)
		e.changed.Breakers = true
		if b.IsPart() {
			continue
		}
		for i := range e.rules {
			if r := &e.rules[i]; r.Act == ActDrain && (b.Name == r.Name || e.rule(b.Name) == nil) {
				e.clear[r.Name] = now
			}
		}
	}
	for _, n := range e.nodes.all {
		if n.Denied != "" && len(closed) > 0 {
			n.Denied = ""
			e.touchNode(n.Node)
		}
	}
	slices.Sort(closed)
	return closed
}

// storm reports whether so many nodes of a site fail jobs at once that the site is to blame: a fifth of them, but three, within ten minutes. Early
// deaths are one only if they are those of several users, and nothing has lived at the site meanwhile.
func (e *Engine) storm(x *Ended, code Code) bool {
	since := x.At.Add(-stormSpan)
	died := isEarly(code)
	if died && e.lived[x.Site].After(since) {
		return false
	}
	nodes, users, size := map[string]bool{}, map[string]bool{x.User: true}, 0
	for _, name := range x.Blame {
		nodes[name] = true
		size = max(size, e.look(federation.NodeID{Site: x.Site, Name: name}).Site)
	}
	for n := range e.nodes.failing(x.Site, since) {
		for i := len(n.Fails) - 1; i >= 0 && n.Fails[i].At.After(since); i-- {
			if f := &n.Fails[i]; f.Job != 0 && f.Code != CodeSlow && !f.Guilty && isEarly(f.Code) == died {
				nodes[n.Node.Name], users[f.User] = true, true
			}
		}
	}
	return len(nodes) >= max(4, size/5) && (!died || len(users) > 1)
}
