package controller

import (
	"slices"

	"fsub/federation"
	"fsub/federation/jobmap"
)

// name is what the jobs of --dependency=singleton have in common.
type name struct{ user, name string }

// namesakes are the live jobs of one user and name, once one of them waits for those before it.
type namesakes struct {
	name  name
	live  []federation.JobID // in order
	fresh bool               // there may be more
}

// names know the namesakes of jobs.
type names struct {
	byName map[name]*namesakes
	of     map[federation.JobID]*namesakes
	fresh  []*namesakes
}

func newNames() names {
	return names{byName: map[name]*namesakes{}, of: map[federation.JobID]*namesakes{}}
}

func nameOf(j *job) name { return name{j.User, j.Spec.Name} }

// counts reports whether others wait for j by its name: tasks and components are counted with the whole.
func counts(j *job) bool { return j.Part == nil && j.Component == nil }

// join takes up a job that is live from now on, or has another name. It returns the one that comes first now among those that had its name before, 0 if there is none.
func (n *names) join(j *job) (first federation.JobID) {
	if len(n.byName) == 0 || !counts(j) {
		return 0
	}
	s := n.byName[nameOf(j)]
	if n.of[j.ID] == s {
		return 0
	}
	first = n.leave(j.ID)
	if s != nil {
		s.add(j.ID)
		n.of[j.ID] = s
	}
	return first
}

// want returns the namesakes of a job that is to wait for those before it.
func (n *names) want(j *job) *namesakes {
	s := n.byName[nameOf(j)]
	if s == nil {
		s = &namesakes{name: nameOf(j), fresh: true}
		n.byName[s.name] = s
		n.fresh = append(n.fresh, s)
	}
	n.join(j)
	return s
}

// find finds the namesakes that new names have among all live jobs, with one look at those: there may be a million, and many new names at once. It returns the jobs that
// come first by these names.
func (n *names) find(all *jobmap.Map[*job]) (first []federation.JobID) {
	if len(n.fresh) == 0 {
		return nil
	}
	for _, j := range all.All() {
		if s := n.byName[nameOf(j)]; s != nil && s.fresh {
			n.join(j)
		}
	}
	for _, s := range n.fresh {
		if s.fresh = false; len(s.live) > 0 {
			first = append(first, s.live[0])
		}
	}
	n.fresh = nil
	return first
}

// leave forgets a job that has ended. It returns the one that comes first now, 0 if there is none.
func (n *names) leave(id federation.JobID) federation.JobID {
	s := n.of[id]
	if s == nil {
		return 0
	}
	delete(n.of, id)
	if i, found := slices.BinarySearch(s.live, id); found {
		s.live = slices.Delete(s.live, i, i+1)
	}
	if len(s.live) == 0 {
		delete(n.byName, s.name)
		return 0
	}
	return s.live[0]
}

func (s *namesakes) add(id federation.JobID) {
	if i, found := slices.BinarySearch(s.live, id); !found {
		s.live = slices.Insert(s.live, i, id)
	}
}

// before reports whether a namesake of the job that was submitted before it is live, or may be.
func (s *namesakes) before(id federation.JobID) bool {
	return s.fresh || len(s.live) > 0 && s.live[0] < id
}
