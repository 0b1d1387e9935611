package slurm

import (
	"slices"
	"sync"
	"time"

	"fsub/federation"
)

// lostAge is how long after a job was asked about, because a node of it was down, it is asked about again.
const lostAge = 30 * time.Second

// shrinking are running jobs of ours that hold a node which is down. /jobs/state/ does not tell that slurmctld takes it from a job with --no-kill.
type shrinking struct {
	mu   sync.Mutex
	jobs map[federation.JobID]time.Time // when each was asked about
}

// look takes in which nodes are down, and what runs on them.
func (s *shrinking) look(nodes []federation.Node, running []federation.RunningJob) {
	down := map[string]bool{}
	for i := range nodes {
		if slices.Contains(nodes[i].State, "DOWN") {
			down[nodes[i].Name] = true
		}
	}
	next := map[federation.JobID]time.Time{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range running {
		if j := &running[i]; j.Job != 0 && len(j.Nodes) > 1 {
			for _, n := range j.Nodes {
				if down[n] {
					next[j.Job] = s.jobs[j.Job]
					break
				}
			}
		}
	}
	s.jobs = next
}

// due are those of some jobs, by their names here, that are to be asked about now.
func (s *shrinking) due(mine map[number][]row, name func(number) federation.JobID, now time.Time) (out []number) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.jobs) == 0 {
		return nil
	}
	for id := range mine {
		if asked, is := s.jobs[name(id)]; is && now.Sub(asked) >= lostAge {
			s.jobs[name(id)] = now
			out = append(out, id)
		}
	}
	return out
}
