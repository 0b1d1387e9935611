package simsite

import (
	"fsub/federation"
	"fsub/federation/reasons"
)

// Runs tells every start of a job at the nodes, in order; of an array, the starts of all its tasks. It is the truth that
// tests compare the books with, and knows what the site's controller has long forgotten.
func (s *Site) Runs(id uint32) []Run {
	s.lock()
	defer s.mu.Unlock()
	var out []Run
	for _, r := range s.runs[id] {
		out = append(out, r.Run)
	}
	return out
}

// RunCount is len(Runs(id)) without the copies.
func (s *Site) RunCount(id uint32) int {
	s.lock()
	defer s.mu.Unlock()
	return len(s.runs[id])
}

// Active are the runs that are alive at the nodes, in order of their start, whatever the controller knows of them.
func (s *Site) Active() []Run {
	s.lock()
	defer s.mu.Unlock()
	out := make([]Run, 0, len(s.active))
	for _, r := range s.liveRuns() {
		out = append(out, r.Run)
	}
	return out
}

// EachRun calls f for every run of every job, job by job in no special order, until f returns false.
func (s *Site) EachRun(f func(Run) bool) {
	s.lock()
	defer s.mu.Unlock()
	for _, list := range s.runs {
		for _, r := range list {
			if !f(r.Run) {
				return
			}
		}
	}
}

// Signals tells what signals the job's newest run was sent.
func (s *Site) Signals(id uint32) []federation.Signal {
	s.lock()
	defer s.mu.Unlock()
	list := s.runs[id]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1].signals
}

// Records are the rows that slurmdbd has of an ID, ghosts included; of an array's ID also those of its tasks.
func (s *Site) Records(id uint32) []Record {
	s.lock()
	defer s.mu.Unlock()
	var out []Record
	for _, r := range s.dbd.byID[id] {
		out = append(out, r.Record)
	}
	return out
}

// JobView is a record of the controller as a harness wants it.
type JobView struct {
	State    federation.State
	Reason   reasons.Reason
	Nodes    string
	Exit     int32
	Restarts int
}

// Jobs are the records that the controller holds, in order of submission.
func (s *Site) Jobs() []JobView {
	s.lock()
	defer s.mu.Unlock()
	out := make([]JobView, 0, len(s.jobs))
	for _, j := range s.order {
		if j != nil {
			out = append(out, s.view(j))
		}
	}
	return out
}

// Job is one record of the controller.
func (s *Site) Job(id uint32) (JobView, bool) {
	s.lock()
	defer s.mu.Unlock()
	j := s.jobs[id]
	if j == nil {
		return JobView{}, false
	}
	return s.view(j), true
}

func (s *Site) view(j *job) JobView {
	return JobView{State: j.state, Reason: s.reasonOf(j), Nodes: j.nodes, Exit: j.exit, Restarts: j.restarts}
}

// Counts are the numbers of pending and running jobs; each array task counts.
func (s *Site) Counts() (pending, running int) {
	s.lock()
	defer s.mu.Unlock()
	return s.pending, s.running
}

// Stats are the site's counters so far.
func (s *Site) Stats() Stats {
	s.lock()
	defer s.mu.Unlock()
	return s.stats
}
