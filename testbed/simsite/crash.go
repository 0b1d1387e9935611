package simsite

import (
	"cmp"
	"slices"

	"fsub/federation"
)

// CrashOptions tell what a controller that is killed hard loses.
type CrashOptions struct {
	// KeepChanges: only jobs that were new since the last save are forgotten; what happened to older ones is kept.
	// Otherwise a job that started since then is PENDING again (its processes are killed), and one that ended since
	// then counts as running, against what slurmdbd says, until its node registers again: Slurm then requeues it, or
	// ends it as NODE_FAIL with exit code 1 (seen on 24.11).
	KeepChanges bool
	// Everything: every job that has not ended is forgotten, saved or not (the state directory was lost).
	Everything bool
	// ForgetEnded: jobs that have ended leave the controller's memory, as if MinJobAge had passed.
	ForgetEnded bool
}

// KillController kills slurmctld hard: it forgets what it had not saved. What runs at the nodes goes on until a new
// controller finds it. slurmrestd and slurmdbd go on.
func (s *Site) KillController(o CrashOptions) {
	s.lock()
	defer s.mu.Unlock()
	if s.down {
		return
	}
	s.down = true
	s.dbd.queue = nil
	for _, j := range s.dirty {
		switch {
		case s.jobs[j.id] != j: // purged meanwhile
		case j.isNew:
			s.drop(j)
			s.stats.Forgotten++
		case j.saved != nil && !o.KeepChanges:
			j.live = *j.saved
			j.gen++
		}
		j.saved = nil
	}
	s.dirty = nil
	for _, j := range slices.Clone(s.order) {
		switch {
		case j == nil:
		case o.Everything && !j.state.Ended():
			s.drop(j)
		case o.ForgetEnded && j.state.Ended() && !s.anchors(j):
			s.drop(j)
		}
	}
	if o.Everything {
		s.savedID = s.cfg.FirstJobID
	}
	s.nextID = s.savedID
	s.saveGen++
	s.saveDue = false
}

// anchors reports whether j is the record of an array of which some other task is alive.
func (s *Site) anchors(j *job) bool {
	a := s.arrays[j.array]
	return a != nil && j.id == j.array && slices.ContainsFunc(a.tasks, func(t *job) bool { return !t.state.Ended() })
}

// StopController ends slurmctld in order: it saves its state first.
func (s *Site) StopController() {
	s.lock()
	defer s.mu.Unlock()
	s.save()
	s.down = true
}

// StartController starts slurmctld on what it had saved. Nodes report what they run: what the controller does not
// know to run is killed there.
func (s *Site) StartController() {
	s.lock()
	defer s.mu.Unlock()
	if !s.down {
		return
	}
	s.down = false
	s.boot = s.now
	s.flush()
	s.recount()
	for _, r := range s.liveRuns() {
		if j := r.job; s.jobs[j.id] != j || j.state != federation.Running || j.run != r {
			s.endRun(r, RunOrphan, 9)
			s.stats.Orphans++
		}
	}
	for _, j := range slices.Clone(s.order) {
		if j != nil && j.state == federation.Running {
			s.recover(j)
		}
	}
	s.passDue = true
	s.schedule()
}

// RestartController is KillController and StartController in one.
func (s *Site) RestartController(o CrashOptions) {
	s.KillController(o)
	s.StartController()
}

// recover settles a job that the controller found as RUNNING in its saved state.
func (s *Site) recover(j *job) {
	r := j.run
	switch {
	case !r.End.IsZero() && !r.delivered:
		s.deliver(r)
	case !r.End.IsZero():
		j.gen++
		s.push(s.now+int64(s.cfg.Registration), event{kind: evMissing, job: j, gen: j.gen})
	case j.limit > 0 && j.limit < int64(j.does.Run):
		s.push(max(s.now, j.start+j.limit), event{kind: evLimit, job: j, gen: j.gen})
	}
}

// liveRuns are the runs that are alive at the nodes, in order of their start.
func (s *Site) liveRuns() []*run {
	var out []*run
	for r := range s.active {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b *run) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(a.JobID, b.JobID))
	})
	return out
}

// recount rebuilds everything that is derived from the job records.
func (s *Site) recount() {
	for _, n := range s.nodes {
		n.usedCPUs, n.usedMem, n.jobs, n.exclusive = 0, 0, 0, 0
		for i := range n.gres {
			n.gres[i].Used = 0
		}
	}
	s.pending, s.running = 0, 0
	s.groups, s.ended = map[groupKey]*group{}, nil
	for _, a := range s.arrays {
		a.running, a.alive = 0, 0
	}
	var pending []*job
	for _, j := range s.order {
		if j == nil {
			continue
		}
		a := s.arrays[j.array]
		j.queued, j.closing = false, false
		if a != nil && !j.state.Ended() {
			a.alive++
		}
		switch {
		case j.state == federation.Running:
			s.running++
			if a != nil {
				a.running++
			}
			for i := range j.shares {
				j.shares[i].n.take(&j.shares[i], j.need.exclusive)
			}
		case j.state == federation.Pending:
			s.pending += j.units()
			pending = append(pending, j)
		default:
			s.ended = append(s.ended, due{j, max(s.now, j.end+int64(s.cfg.MinJobAge))})
		}
	}
	slices.SortStableFunc(s.ended, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	for _, j := range pending {
		s.enqueue(j)
	}
}

// SetSlurmdbd stops slurmdbd or starts it. While it is down the controller keeps its messages, and loses them if
// it is killed.
func (s *Site) SetSlurmdbd(up bool) {
	s.lock()
	defer s.mu.Unlock()
	s.dbd.up = up && s.dbd.exists
	s.flush()
}
