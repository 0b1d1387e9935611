package simsite

import (
	"slices"
	"strconv"
	"strings"

	"fsub/federation"
)

// dependency is one condition: kind of the job (or of one task of it).
type dependency struct {
	kind string // after, afterany, afterok, afternotok, singleton
	job  uint32
	task int // -1: all of it
}

// parseDependency reads "afterok:1:2,afterany:3_4" (all must hold) or the same with "?" (one is enough).
func (s *Site) parseDependency(text string) (deps []dependency, oneIsEnough bool, err error) {
	if text == "" {
		return nil, false, nil
	}
	sep := ","
	if strings.Contains(text, "?") {
		sep, oneIsEnough = "?", true
	}
	for item := range strings.SplitSeq(text, sep) {
		kind, ids, _ := strings.Cut(item, ":")
		switch kind {
		case "singleton":
			deps = append(deps, dependency{kind: kind, task: -1})
			continue
		case "aftercorr":
			kind = "afterok"
		case "after", "afterany", "afterok", "afternotok":
		default:
			return nil, false, errDependency
		}
		for id := range strings.SplitSeq(ids, ":") {
			d, err := s.parseDependOn(kind, id)
			if err != nil {
				return nil, false, err
			}
			deps = append(deps, d)
		}
	}
	return deps, oneIsEnough, nil
}

func (s *Site) parseDependOn(kind, id string) (dependency, error) {
	id, _, _ = strings.Cut(id, "+")
	id, task, hasTask := strings.Cut(id, "_")
	n, err := strconv.ParseUint(id, 10, 32)
	d := dependency{kind: kind, job: uint32(n), task: -1}
	if err == nil && hasTask && task != "*" {
		d.task, err = strconv.Atoi(task)
	}
	if err != nil || s.jobs[d.job] == nil && s.arrays[d.job] == nil && len(s.dbd.byID[d.job]) == 0 {
		return d, errDependency
	}
	return d, nil
}

type depState int

const (
	depWaits depState = iota
	depMet
	depNever
)

// depends looks at one condition. A job that has left the controller's memory counts as one that ended well.
func (s *Site) depends(j *job, d dependency) depState {
	if d.kind == "singleton" {
		return s.singleton(j)
	}
	list := []*job{s.jobs[d.job]}
	if a := s.arrays[d.job]; a != nil {
		list = a.tasks
	}
	failed := false
	for _, o := range list {
		switch {
		case o == nil || d.task >= 0 && o.task != d.task && !slices.Contains(o.waiting, d.task):
		case d.kind == "after" && o.state == federation.Pending, d.kind != "after" && !o.state.Ended():
			return depWaits
		case o.state != federation.Completed:
			failed = true
		}
	}
	switch {
	case d.kind == "afterok" && failed, d.kind == "afternotok" && !failed:
		return depNever
	}
	return depMet
}

// singleton waits for every earlier job of the same name and user.
func (s *Site) singleton(j *job) depState {
	for _, o := range s.order {
		if o != nil && o != j && o.seq < j.seq && o.user == j.user && o.desc.Name == j.desc.Name && !o.state.Ended() {
			return depWaits
		}
	}
	return depMet
}

// depCheck brings a pending job's conditions up to date and queues it when they are met.
func (s *Site) depCheck(j *job) {
	if j.state != federation.Pending || len(j.deps) == 0 {
		return
	}
	s.touch(j)
	left := j.deps[:0:0]
	for _, d := range j.deps {
		switch st := s.depends(j, d); {
		case st == depMet && j.depsAny:
			j.deps = nil
			s.enqueue(j)
			return
		case st == depWaits:
			left = append(left, d)
		case st == depNever && !j.depsAny:
			j.depNever = true
		}
	}
	j.deps = left
	if len(left) == 0 {
		j.depNever = j.depNever || j.depsAny
		s.enqueue(j)
	}
}

// await registers a job with what it depends on; singletons are looked at after every end.
func (s *Site) await(j *job) {
	for _, d := range j.deps {
		s.waiters[d.job] = append(s.waiters[d.job], j)
	}
	s.depCheck(j)
}

func (s *Site) depStarted(j *job) { s.wake(j.groupID()) }

func (s *Site) depEnded(j *job) {
	s.wake(j.groupID())
	s.wake(0)
}

func (s *Site) wake(id uint32) {
	list := s.waiters[id]
	if len(list) == 0 {
		return
	}
	delete(s.waiters, id)
	for _, j := range list {
		s.depCheck(j)
		if j.state == federation.Pending && slices.ContainsFunc(j.deps, func(d dependency) bool { return d.job == id }) {
			s.waiters[id] = append(s.waiters[id], j)
		}
	}
}
