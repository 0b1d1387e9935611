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
	"fsub/federation/api/submission"
	"fsub/slurm/hostlist"
)

// condition is a [where] on jobs. Keys and values that the nodes of fed node list have too mean the same here.
type condition struct {
	where
	values []string
	nodes  map[string]bool // of key node: SITE/NAME, or NAME of any site
	age    time.Duration
}

var jobKeys = []string{"id", "state", "user", "account", "site", "partition", "pool", "node", "gpu", "reason", "name", "age"}

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
	case "name", "user", "account":
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

// candidate is a job as conditions see it.
type candidate struct {
	job  *federation.Job
	now  time.Time
	gpus []string // kinds that it asks for or holds
}

// holds reports whether the condition is met.
func (c *condition) holds(j *candidate) bool {
	switch c.op {
	case '<':
		return j.now.Sub(j.job.Submit) < c.age
	case '>':
		return j.now.Sub(j.job.Submit) > c.age
	}
	return c.wants(c.any(j))
}

func (c *condition) any(j *candidate) bool {
	is := func(s string) bool { return slices.Contains(c.values, s) }
	like := func(s string) bool {
		return slices.ContainsFunc(c.values, func(pattern string) bool { ok, _ := path.Match(pattern, s); return ok })
	}
	job := j.job
	switch c.key {
	case "id":
		return is(job.ID.String()) || job.Part != nil && (is(job.Part.Array.String()) || is(fmt.Sprintf("%d_%d", job.Part.Array, job.Part.Index)))
	case "state":
		return is(string(job.State))
	case "user":
		return like(job.User)
	case "account":
		return like(submission.AccountOf(job))
	case "site":
		return is(string(job.Site)) || job.Site == "" && is("none")
	case "partition", "pool":
		if job.Partition != "" {
			return is(job.Partition)
		}
		return slices.ContainsFunc(job.Needs().Partitions, is)
	case "node":
		return c.onNode(job)
	case "gpu":
		return len(j.gpus) > 0 && (is("any") || slices.ContainsFunc(j.gpus, func(kind string) bool {
			return slices.ContainsFunc(c.values, func(v string) bool { return strings.EqualFold(v, kind) })
		}))
	case "name":
		return like(job.Spec.Name)
	}
	return strings.Contains(strings.ToLower(string(job.Reason)), c.values[0]) // reason
}

// onNode reports whether the job holds one of the nodes, or, where it has ended, has held one.
func (c *condition) onNode(job *federation.Job) bool {
	if job.State == federation.Pending || job.Nodes == "" {
		return false
	}
	return slices.ContainsFunc(nodesOf(job), func(n string) bool { return c.nodes[n] || c.nodes[string(job.Site)+"/"+n] })
}

func nodesOf(job *federation.Job) []string {
	names, err := hostlist.Expand(job.Nodes)
	if err != nil {
		return nil
	}
	return names
}
