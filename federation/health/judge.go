package health

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"fsub/federation"
)

// How the rules are tried on what is remembered of nodes and jobs.

// acquit ends a suspicion that no longer has enough behind it.
func (e *Engine) acquit(id federation.NodeID, now time.Time) []Finding {
	n := e.nodes.all[id]
	if n == nil || !now.Before(n.Until) {
		return nil
	}
	r := e.rule(n.Rule)
	if r == nil || !r.Alone || e.applies(r, n, now) != nil {
		return nil
	}
	n.Until, n.Rule = time.Time{}, ""
	e.touchNode(id)
	return []Finding{{At: now, Rule: r.Name, Act: ActSuspect, Node: id, Until: now, Why: "no longer suspected: jobs live there, or those that failed do so elsewhere too"}}
}

func (e *Engine) rule(name string) *Rule {
	i := slices.IndexFunc(e.rules, func(r Rule) bool { return r.Name == name })
	if i < 0 {
		return nil
	}
	return &e.rules[i]
}

// applies returns the failures by which a rule about nodes applies to one, nil if it does not.
func (e *Engine) applies(r *Rule, n *NodeState, now time.Time) (by []*Fail) {
	since := now.Add(-r.Within)
	if t := e.clear[r.Name]; t.After(since) {
		since = t
	}
	if r.Alone && n.Lived.After(since) {
		since = n.Lived
	}
	jobs, users, likes, checks := map[federation.JobID]bool{}, map[string]bool{}, map[string]bool{}, 0
	for i := range n.Fails {
		f := &n.Fails[i]
		if !f.At.After(since) || !r.counts(f.Code) || f.Guilty || f.Rail != "" || r.Innocent && !f.Innocent {
			continue
		}
		if f.Job == 0 {
			checks++
		} else {
			jobs[f.Job], users[f.User], likes[f.Like] = true, true, true
		}
		by = append(by, f)
	}
	if len(jobs)+checks < r.Jobs || len(users) < r.Users || len(likes) < r.Likes {
		return nil
	}
	return by
}

// judge tries the rules about nodes on one. What is worst comes first, and what is suspected or drained by a rule is not told again.
func (e *Engine) judge(id federation.NodeID, now time.Time) (found []Finding) {
	n := e.nodes.all[id]
	if n == nil || n.Drain != "" {
		return nil
	}
	for i := range e.rules {
		r := &e.rules[i]
		if r.Nodes > 0 || r.Act == ActOff {
			continue
		}
		by := e.applies(r, n, now)
		if by == nil {
			continue
		}
		f := Finding{At: now, Rule: r.Name, Act: r.Act, Node: id, Pool: e.look(id).Pool, Why: why(r, by)}
		switch r.Act {
		case ActDrain:
			found = append(found, e.drain(r, n, f, by)...)
			if n.Drain != "" {
				return found
			}
		case ActSuspect:
			found = append(found, e.suspect(r, n, f)...)
		case ActNotify:
			if by[len(by)-1].At.Equal(now) {
				found = append(found, f)
			}
		}
	}
	return found
}

func (e *Engine) suspect(r *Rule, n *NodeState, f Finding) []Finding {
	f.Until = f.At.Add(r.For)
	if f.At.Before(n.Until) || e.look(n.Node).Out {
		return nil
	}
	if pool := e.look(n.Node); !e.maySuspect(n.Node.Site, pool, f.At) {
		f.Denied = fmt.Sprintf("as many nodes of %s as may be are suspected", pool.Pool)
		if n.Denied == r.Name {
			return nil
		}
		n.Denied = r.Name
		e.touchNode(n.Node)
		return []Finding{f}
	}
	n.Rule, n.Why, n.Denied = r.Name, f.Why, ""
	e.nodes.suspect(n, f.Until)
	e.touchNode(n.Node)
	return []Finding{f}
}

// maySuspect reports whether another node of a pool may be avoided: a tenth of it, but one, and never its only one.
func (e *Engine) maySuspect(site federation.SiteName, pool Standing, now time.Time) bool {
	n := 0
	for s := range e.nodes.suspectsAt(site, now) {
		if e.look(s.Node).Pool == pool.Pool {
			n++
		}
	}
	return pool.Size > 1 && n < max(1, pool.Size/10)
}

// judgeJob tries the rules about jobs on one.
func (e *Engine) judgeJob(id federation.JobID, now time.Time) []Finding {
	j := e.jobs[id]
	for i := range e.rules {
		r := &e.rules[i]
		if r.Nodes == 0 || r.Act == ActOff {
			continue
		}
		nodes, sure := map[federation.NodeID]bool{}, true
		for _, f := range j.Fails {
			if r.counts(f.Code) && now.Sub(f.At) <= r.Within && f.At.After(e.clear[r.Name]) && !nodes[f.Node] {
				nodes[f.Node] = true
				sure = sure && e.othersLive(f)
			}
		}
		if len(nodes) < r.Nodes || !sure && len(nodes) == r.Nodes {
			continue // one node more, where nobody else has shown that they work
		}
		f := Finding{At: now, Rule: r.Name, Act: r.Act, Job: id, Why: j.history()}
		if r.Act != ActNotify {
			delete(e.jobs, id)
			e.touchJob(id)
		}
		return []Finding{f}
	}
	return nil
}

// othersLive reports whether others have lived on the node of a failure since shortly before.
func (e *Engine) othersLive(f JobFail) bool {
	n := e.nodes.all[f.Node]
	return n != nil && n.Lived.After(f.At.Add(-time.Hour))
}

// history says where a job has failed, and how.
func (j *JobState) history() string {
	var b strings.Builder
	for i, f := range j.Fails {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s on %s", f.Code, f.Node)
		if f.Exit != 0 {
			fmt.Fprintf(&b, " (exit code %d:%d)", f.Exit>>8, f.Exit&0x7f)
		}
		if f.Ran > 0 {
			fmt.Fprintf(&b, " after %s", f.Ran.Round(time.Second))
		}
	}
	return b.String()
}

// why says by what a rule applies.
func why(r *Rule, by []*Fail) string {
	jobs := map[federation.JobID]bool{}
	for _, f := range by {
		if f.Job != 0 {
			jobs[f.Job] = true
		}
	}
	last := by[len(by)-1]
	if last.Job == 0 {
		return fmt.Sprintf("%s: %s", last.Code, last.Text)
	}
	ids := slices.Sorted(maps.Keys(jobs))
	list := make([]string, 0, 4)
	for _, id := range ids[:min(len(ids), 3)] {
		list = append(list, id.String())
	}
	text := "job " + list[0]
	if len(ids) > 1 {
		text = fmt.Sprintf("%d jobs: %s", len(ids), strings.Join(list, " "))
	}
	if len(ids) > 3 {
		text += " ..."
	}
	return fmt.Sprintf("%s (%s)", r.What, text)
}
