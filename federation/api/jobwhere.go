package api

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/api/queue"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// condition is a [where] on jobs. Keys and values that the nodes of fed node list have too mean the same here.
type condition struct {
	where
	values []string
	nodes  map[string]bool // of key node: SITE/NAME, or NAME of any site
	age    time.Duration
}

var jobKeys = []string{"id", "state", "user", "account", "group", "site", "partition", "pool", "node", "gpu", "reason", "name", "age"}

// jobStates are short for several states of jobs.
var jobStates = map[string][]federation.State{
	"PD": {federation.Pending}, "R": {federation.Running}, "S": {federation.Suspended}, "CG": {federation.Completing},
	"ENDED": federation.EndStates,
}

// Bounds of what one request may ask for: names are those of nodes, and job IDs.
const (
	mostConditions = 64
	mostNames      = 100_000
)

// fewNames refuses lists that stand for too many names before they are written out.
func fewNames(lists ...string) error {
	sum := 0
	for _, list := range lists {
		n, err := hostlist.Count(list)
		if err != nil {
			return err
		}
		if sum += n; sum > mostNames {
			return fmt.Errorf("it stands for more than %d names", mostNames)
		}
	}
	return nil
}

func readConditions(texts []string) ([]condition, error) {
	var out []condition
	if len(texts) > mostConditions {
		return nil, fmt.Errorf("%d conditions, at most %d are allowed", len(texts), mostConditions)
	}
	for _, text := range texts {
		c, err := readCondition(text)
		if err == nil && c.key != "id" && c.key != "node" {
			err = answer.FewWords(c.key, c.values)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

func readCondition(text string) (c condition, err error) {
	if c.where, err = readWhere(text, jobKeys); err != nil {
		return c, err
	}
	value := c.value
	switch c.values = hostlist.Split(value); c.key {
	case "age":
		c.age, err = readAge(value)
	case "reason": // which may have commas
		c.values = []string{strings.ToLower(value)}
	case "node":
		c.nodes, err = readNodes(c.values)
	case "state":
		err = c.readStates()
	case "id":
		if err = fewNames(value); err == nil {
			c.values, err = hostlist.Expand(value)
		}
	case "name", "user", "account", "group":
		for _, v := range c.values {
			if _, bad := path.Match(v, ""); bad != nil {
				err = fmt.Errorf("%q is not a pattern", v)
			}
		}
	}
	if err != nil {
		return c, invalidWhere(text, "%v", err)
	}
	return c, nil
}

func readAge(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("want a time such as 90m, 2h or 3d")
	}
	return d, nil
}

func readNodes(items []string) (map[string]bool, error) {
	nodes := map[string]bool{}
	var lists []string
	for _, item := range items {
		_, list, has := strings.Cut(item, "/")
		if !has {
			list = item
		}
		lists = append(lists, list)
	}
	if err := fewNames(lists...); err != nil {
		return nil, err
	}
	for _, item := range items {
		site, list, has := strings.Cut(item, "/")
		if !has {
			site, list = "", item
		}
		names, err := hostlist.Expand(list)
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			if has {
				n = site + "/" + n
			}
			nodes[n] = true
		}
	}
	return nodes, nil
}

func (c *condition) readStates() error {
	var out []string
	for _, v := range c.values {
		v = strings.ToUpper(v)
		if several, ok := jobStates[v]; ok {
			for _, s := range several {
				out = append(out, string(s))
			}
			continue
		}
		s := federation.State(v)
		if !s.Ended() && !s.Started() && s != federation.Pending {
			return fmt.Errorf("unknown state %s", v)
		}
		out = append(out, v)
	}
	c.values = out
	return nil
}

// jobChoice are conditions on jobs, of which all must be met.
type jobChoice struct {
	conditions []condition
	now        time.Time
	gpus       gpuKinds // of nodes
}

// Class implements [queue.Choice].
func (c *jobChoice) Class(f *queue.Facts, name *string) (chosen, sure bool) {
	sure = true
	for i := range c.conditions {
		switch w := &c.conditions[i]; {
		case w.needsJob(f, name):
			sure = false
		case !w.holds(f, name):
			return false, true
		}
	}
	return true, sure
}

// Job implements [queue.Choice].
func (c *jobChoice) Job(l *queue.Listed) bool {
	return !slices.ContainsFunc(c.conditions, func(w condition) bool {
		if w.ofJob() {
			return !w.holdsOf(c, l)
		}
		return !w.holds(&l.Facts, &l.Name)
	})
}

// ofJob reports whether the condition is on what each job has for itself.
func (c *condition) ofJob() bool {
	switch c.key {
	case "id", "age", "node", "gpu":
		return true
	}
	return false
}

// needsJob reports whether the facts, and the name if it is told, do not say whether a job meets the condition.
func (c *condition) needsJob(f *queue.Facts, name *string) bool {
	switch c.key {
	case "name":
		return name == nil
	case "node":
		return f.State != federation.Pending
	case "gpu":
		return f.State.Started() && f.GPUs != ""
	}
	return c.ofJob()
}

// holdsOf reports whether a job meets a condition on what it has for itself.
func (c *condition) holdsOf(all *jobChoice, l *queue.Listed) bool {
	switch age := all.now.Sub(time.Unix(l.Submit, 0)); c.op {
	case '<':
		return age < c.age
	case '>':
		return age > c.age
	}
	is := func(s string) bool { return slices.Contains(c.values, s) }
	switch c.key {
	case "id":
		return c.wants(is(l.ID.String()) || l.Array != 0 && (is(l.Array.String()) || is(fmt.Sprintf("%d_%d", l.Array, l.Index))))
	case "node":
		return c.wants(c.onNode(l))
	}
	return c.wants(c.onGPUs(all.gpus.of(l)))
}

// onGPUs reports whether one of the kinds is meant.
func (c *condition) onGPUs(kinds []string) bool {
	return len(kinds) > 0 && (slices.Contains(c.values, "any") || slices.ContainsFunc(kinds, func(kind string) bool {
		return slices.ContainsFunc(c.values, func(v string) bool { return strings.EqualFold(v, kind) })
	}))
}

// holds reports whether facts and the name meet a condition on them.
func (c *condition) holds(f *queue.Facts, name *string) bool {
	is := func(s string) bool { return slices.Contains(c.values, s) }
	like := func(s string) bool {
		return slices.ContainsFunc(c.values, func(pattern string) bool { ok, _ := path.Match(pattern, s); return ok })
	}
	met := false
	switch c.key {
	case "state":
		met = is(string(f.State))
	case "user":
		met = like(f.User)
	case "account":
		met = like(f.Account)
	case "group":
		met = slices.ContainsFunc(sbatch.Groups(f.Group), like)
	case "site":
		met = is(string(f.Site)) || f.Site == "" && is("none")
	case "partition", "pool":
		for p := range f.PartitionList() {
			met = met || is(p)
		}
	case "name":
		met = like(*name)
	case "reason":
		met = strings.Contains(strings.ToLower(string(f.Reason)), c.values[0])
	case "gpu": // of a job that holds none, and a node of one that waits
		met = c.onGPUs(f.GPUKinds())
	case "node":
	}
	return c.wants(met)
}

// onNode reports whether the job holds one of the nodes, or, where it has ended, has held one.
func (c *condition) onNode(l *queue.Listed) bool {
	if l.State == federation.Pending || l.Nodes == "" {
		return false
	}
	return slices.ContainsFunc(nodesOf(l), func(n string) bool { return c.nodes[n] || c.nodes[string(l.Site)+"/"+n] })
}

func nodesOf(l *queue.Listed) []string {
	if !strings.ContainsAny(l.Nodes, "[,") {
		return []string{l.Nodes}
	}
	names, err := hostlist.Expand(l.Nodes)
	if err != nil {
		return nil
	}
	return names
}

// idsOf are the jobs that a condition id= names, where there is one; nil: there is none.
func idsOf(conditions []condition) []federation.JobID {
	for i := range conditions {
		c := &conditions[i]
		if c.key != "id" || c.op != '=' {
			continue
		}
		ids := []federation.JobID{}
		for _, v := range c.values {
			master, _, _ := strings.Cut(v, "_")
			if n, err := strconv.ParseUint(master, 10, 32); err == nil {
				ids = append(ids, federation.JobID(n))
			}
		}
		return ids
	}
	return nil
}
