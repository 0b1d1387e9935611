package health

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/idle"
)

// Check is one finding of a node's health check.
type Check struct {
	Code Code   `json:"code"` // check-gpu, check-link, check-disk, check-clock
	Text string `json:"text"`
	// Device is the port of the node that it is about, as NCCL names it: mlx5_3:1.
	Device string `json:"device,omitempty"`
}

// Checked takes in what a health check found on a node; the same again is no news within the hour.
func (e *Engine) Checked(id federation.NodeID, found []Check, now time.Time) (out []Finding) {
	news := false
	out = e.Fabric.ports(id, found, now)
	for _, c := range found {
		if n := e.nodes.all[id]; n != nil && slices.ContainsFunc(n.Fails, func(f Fail) bool {
			return f.Code == c.Code && f.Text == c.Text && now.Sub(f.At) < hour
		}) {
			continue
		}
		e.note(id, Fail{At: now, Code: c.Code, Text: c.Text, Device: c.Device, Rail: e.Fabric.laid(id, c.Device, now)}, true)
		news = true
	}
	if news {
		out = append(out, e.judge(id, now)...)
	}
	return out
}

// Suspected reports whether a node is to be avoided now.
func (e *Engine) Suspected(id federation.NodeID, now time.Time) bool {
	n := e.nodes.all[id]
	return n != nil && now.Before(n.Until)
}

// Nodes are all that something is remembered of, in order; copies.
func (e *Engine) Nodes() (out []NodeState) {
	for _, n := range e.nodes.all {
		c := *n
		c.Fails, c.Down = slices.Clone(n.Fails), slices.Clone(n.Down)
		out = append(out, c)
	}
	slices.SortFunc(out, compareNodes)
	return out
}

func compareNodes(a, b NodeState) int {
	return cmp.Or(cmp.Compare(a.Node.Site, b.Node.Site), cmp.Compare(a.Node.Name, b.Node.Name))
}

// Node is what is remembered of a node, nil if it is nothing.
func (e *Engine) Node(id federation.NodeID) *NodeState { return e.nodes.all[id] }

// Job is what is remembered of a job, nil if it is nothing.
func (e *Engine) Job(id federation.JobID) *JobState { return e.jobs[id] }

// Avoid are the nodes of a site on which a job has failed: it is to run elsewhere.
func (e *Engine) Avoid(id federation.JobID, site federation.SiteName) (names []string) {
	if j := e.jobs[id]; j != nil {
		for _, f := range j.Fails {
			if f.Node.Site == site && !slices.Contains(names, f.Node.Name) {
				names = append(names, f.Node.Name)
			}
		}
	}
	return names
}

// Forgive forgets what was seen of a node before somebody resumed it, who answers for it.
func (e *Engine) Forgive(id federation.NodeID, resumed time.Time) {
	n := e.nodes.all[id]
	if n == nil || n.Drain == "" && !slices.ContainsFunc(n.Fails, func(f Fail) bool { return !f.At.After(resumed) }) {
		return
	}
	n.Fails, n.Died = slices.DeleteFunc(n.Fails, func(f Fail) bool { return !f.At.After(resumed) }), nil
	n.Drain, n.Denied = "", ""
	if len(n.Fails) == 0 && len(n.Down) == 0 {
		e.nodes.drop(id)
	}
	e.touchNode(id)
}

// Gone forgets a job that has ended.
func (e *Engine) Gone(id federation.JobID) {
	if e.jobs[id] != nil {
		delete(e.jobs, id)
		e.touchJob(id)
	}
}

// Forget drops what is too old for every rule.
func (e *Engine) Forget(now time.Time) {
	for id, n := range e.nodes.all {
		old := func(f Fail) bool { return now.Sub(f.At) > e.keeps(f.Code) }
		gone := len(n.Down) > 0 && !e.look(id).Known
		if !gone && !slices.ContainsFunc(n.Fails, old) {
			continue
		}
		if n.Fails = slices.DeleteFunc(n.Fails, old); gone {
			e.Fabric.setDown(n, nil)
		}
		e.touchNode(id)
		if len(n.Fails) == 0 && len(n.Down) == 0 && n.Drain == "" && !now.Before(n.Until) {
			e.nodes.drop(id)
		}
	}
}

// keeps is how long failures of a code count for any rule about nodes.
func (e *Engine) keeps(c Code) time.Duration {
	longest := hour
	for i := range e.rules {
		if r := &e.rules[i]; r.Nodes == 0 && r.counts(c) {
			longest = max(longest, r.Within)
		}
	}
	return longest
}

// Load takes in what was stored: what TakeChanged has named before.
func (e *Engine) Load(nodes []NodeState, jobs []JobState, breakers []Breaker) {
	for i := range nodes {
		e.nodes.put(&nodes[i])
	}
	for i := range jobs {
		e.jobs[jobs[i].Job] = &jobs[i]
	}
	for i := range breakers {
		b := &breakers[i]
		if b.Drains == nil {
			b.Drains = map[string][]drains{}
		}
		e.breakers[b.Name] = b
		if b.Reset.IsZero() || b.IsPart() {
			continue
		}
		for k := range e.rules {
			if r := &e.rules[k]; r.Act == ActDrain && (b.Name == r.Name || e.rule(b.Name) == nil) && b.Reset.After(e.clear[r.Name]) {
				e.clear[r.Name] = b.Reset
			}
		}
	}
}

// Rules are those in force.
func (e *Engine) Rules() []Rule { return e.rules }

// Jobs are those of which something is remembered.
func (e *Engine) Jobs() map[federation.JobID]*JobState { return e.jobs }

// Report is what there is to be told of an engine.
type Report struct {
	Rules    []Rule
	Nodes    []NodeState
	Breakers []Breaker
	Idle     idle.Rule
}

// ResetBy is an operator's word that breakers are to be closed.
type ResetBy struct {
	Breaker string `json:"breaker,omitempty"` // "": all
	Who     string `json:"who"`
}

// Mark is o with the nodes marked that are suspected, and those below a part of the fabric that gangs are kept off. Without any it is o itself; o is not changed.
func Mark(o *federation.Observation, suspected func(name string) bool, badPart func(name string) string) *federation.Observation {
	marked := o
	for i := range o.Nodes {
		is, part := suspected(o.Nodes[i].Name), badPart(o.Nodes[i].Name)
		if is == o.Nodes[i].Suspect && part == o.Nodes[i].BadPart {
			continue
		}
		if marked == o {
			c := *o
			c.Nodes = slices.Clone(o.Nodes)
			marked = &c
		}
		marked.Nodes[i].Suspect, marked.Nodes[i].BadPart = is, part
	}
	return marked
}

// CheckMark begins what a health check writes into the extra field of its node's record at a Slurm site.
const CheckMark = "fed-health:"

// WriteChecks is what a health check writes there; "" if it has found nothing.
func WriteChecks(found []Check) string {
	if len(found) == 0 {
		return CheckMark + "[]"
	}
	text, _ := json.Marshal(found)
	return CheckMark + string(text)
}

// ReadChecks reads it.
func ReadChecks(extra string) (found []Check, err error) {
	err = json.Unmarshal([]byte(strings.TrimPrefix(extra, CheckMark)), &found)
	for _, c := range found {
		if !strings.HasPrefix(string(c.Code), "check-") {
			return nil, fmt.Errorf("unknown finding %q", c.Code)
		}
	}
	return found, err
}
