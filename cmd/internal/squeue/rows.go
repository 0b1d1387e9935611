package squeue

import (
	"slices"
	"strconv"
	"strings"

	"fsub/cmd/internal/show"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// row is one line: a job, a task, or with --array one task of those that have not started.
type row struct {
	*wire.Job
	task int      // a task that was taken from ArrayTaskString; -1: none
	step *v1.Step // of --steps; nil: the batch script
	next v1.Foretold
}

// selection makes the choices that the daemon does not make.
type selection struct {
	*command
	asked map[int64]map[int]bool // tasks that --jobs names, by job; nil where it names the job
	nodes map[string]bool        // nil: all
	whole []int
	steps map[int64][]*v1.Step // by job, in order
}

func (c *command) selection() *selection {
	return &selection{command: c, asked: c.askedTasks(), nodes: c.askedNodes(), whole: []int{-1}, steps: c.liveSteps()}
}

func (s *selection) wants(j *wire.Job) bool {
	switch {
	case s.command.steps && (wire.BaseState(j.State) != wire.StateRunning || j.HetJobOffset.Value() > 0):
		return false // all components share the batch script of the first
	}
	return oneOf(s.reservations, j.ReservationName) && !(s.notMe && int(j.UserID) == s.me) &&
		(s.nodes == nil || s.command.steps || onNodes(j.Nodes, s.nodes)) && (len(s.licenses) == 0 || hasLicense(j.Licenses, s.licenses))
}

// hasLicense reports whether a request such as "matlab:2,ansys@server:1" has one of names.
func hasLicense(request string, names []string) bool {
	for item := range strings.FieldsFuncSeq(request, func(c rune) bool { return c == ',' || c == '|' }) {
		name, _, _ := strings.Cut(item, ":")
		if slices.Contains(names, name) {
			return true
		}
	}
	return false
}

func (c *command) askedNodes() map[string]bool {
	if len(c.nodes) == 0 {
		return nil
	}
	set := map[string]bool{}
	for _, list := range c.nodes {
		names, _ := hostlist.Expand(list) // it was checked
		for _, n := range names {
			set[n] = true
		}
	}
	return set
}

func onNodes(list string, nodes map[string]bool) bool {
	names, _ := hostlist.Expand(list)
	return slices.ContainsFunc(names, func(n string) bool { return nodes[n] })
}

func (c *command) askedTasks() map[int64]map[int]bool {
	if len(c.jobs) == 0 {
		return nil
	}
	asked := map[int64]map[int]bool{}
	for _, ref := range c.jobs {
		idText, tasks, some := strings.Cut(ref, "_")
		idText, _, _ = strings.Cut(idText, "+")
		id, _ := strconv.ParseInt(idText, 10, 64)
		if !some {
			asked[id] = nil
			continue
		}
		if set, known := asked[id]; !known {
			asked[id] = map[int]bool{}
		} else if set == nil {
			continue
		}
		for _, t := range show.Ranges(tasks) {
			asked[id][t] = true
		}
	}
	return asked
}

// tasks returns the rows of j by their tasks: -1 for the job as it is, or one row for each task
// that has not started if --array or --jobs asks for it.
func (s *selection) tasks(j *wire.Job) []int {
	if j.ArrayTaskString == "" || j.ArrayTaskID.Set {
		return s.whole
	}
	want := s.asked[j.ArrayJobID.Value()]
	if !s.array && want == nil {
		return s.whole
	}
	return slices.DeleteFunc(show.Ranges(j.ArrayTaskString), func(t int) bool { return want != nil && !want[t] })
}

// rows are the lines that j makes. The steps of a job are in order of their numbers, its batch script is last.
func (s *selection) rows(j *wire.Job) []row {
	var rows []row
	if !s.command.steps {
		for _, task := range s.tasks(j) {
			rows = append(rows, row{Job: j, task: task})
		}
		return rows
	}
	for _, step := range append(s.steps[j.JobID], nil) {
		r := row{Job: j, task: -1, step: step}
		if len(s.stepIDs) > 0 && !slices.Contains(s.stepIDs, stepID(&r)) && !slices.Contains(s.stepIDs, jobID(&r)) ||
			s.nodes != nil && !onNodes(stepNodes(&r), s.nodes) {
			continue
		}
		rows = append(rows, r)
	}
	return rows
}

// master is the number that the row's ID begins with.
func (r *row) master() int64 {
	if r.ArrayJobID.Value() != 0 {
		return r.ArrayJobID.Value()
	}
	return r.JobID
}
