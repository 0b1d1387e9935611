package simsite

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/slurm/wire"
)

// target is what a request names: "17", "17_4", "17_[3-9]".
type target struct {
	id    uint32
	tasks []int // nil: all
}

func (s *Site) parseTarget(text string) (target, error) {
	id, tasks, hasTasks := strings.Cut(text, "_")
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return target{}, errJobID
	}
	t := target{id: uint32(n)}
	if hasTasks && tasks != "*" {
		if t.tasks, _, err = s.parseArray(strings.Trim(tasks, "[]")); err != nil {
			return target{}, errJobID
		}
	}
	return t, nil
}

// records finds the records that a target names, the array's own first.
func (s *Site) records(t target) []*job {
	if a := s.arrays[t.id]; a != nil {
		return slices.Clone(a.tasks)
	}
	if j := s.jobs[t.id]; j != nil {
		return []*job{j}
	}
	return nil
}

// mayTouch: a job belongs to its user, and to operators.
func (s *Site) mayTouch(c Caller, j *job) bool { return j.user.Name == c.Name || s.operator(c) }

// Kill sends a signal to a job ("17", "17_4", "17_[3-9]"), as DELETE /job/{id} does; signal "" and KILL cancel it.
func (s *Site) Kill(c Caller, job string, sig federation.Signal) error {
	s.lock()
	defer s.mu.Unlock()
	return s.kill(c, job, sig)
}

func (s *Site) kill(c Caller, job string, sig federation.Signal) error {
	if s.down {
		return errController
	}
	t, err := s.parseTarget(job)
	if err != nil {
		return err
	}
	list := s.records(t)
	if len(list) == 0 {
		return errJobID
	}
	if !s.mayTouch(c, list[0]) {
		return errDenied
	}
	done := 0
	for _, j := range list {
		switch err = s.signalRecord(j, t.tasks, sig); err {
		case errAlreadyDone:
			done++
		case nil:
		default:
			return err
		}
	}
	s.schedule()
	if done == len(list) {
		return errAlreadyDone
	}
	return nil
}

// signalRecord signals one record; of an array's own record only the tasks named.
func (s *Site) signalRecord(j *job, tasks []int, sig federation.Signal) error {
	cancel := (sig.Name == "" || signalNumber(sig.Name) == 9) && !sig.Batch
	if tasks != nil && !j.isArray() && !slices.Contains(tasks, j.task) {
		return nil
	}
	switch {
	case j.state.Ended():
		return errAlreadyDone
	case j.state == federation.Pending && !cancel:
		return errTransition
	case j.state == federation.Pending && tasks != nil && j.isArray():
		s.cancelWaiting(j, tasks)
	case cancel:
		s.killRun(j, RunCancelled)
		s.stats.Cancelled++
		s.finish(j, federation.Cancelled, s.cancelExit(j), "")
	default:
		s.signalRun(j, sig)
	}
	return nil
}

// cancelExit: a job that ran when it was cancelled has been ended by SIGTERM.
func (s *Site) cancelExit(j *job) int32 {
	if j.state == federation.Running {
		return 15
	}
	return 0
}

// cancelWaiting takes tasks that have not started out of an array. Nothing is left of them but the gap, as in Slurm.
func (s *Site) cancelWaiting(j *job, tasks []int) {
	left := slices.DeleteFunc(slices.Clone(j.waiting), func(t int) bool { return slices.Contains(tasks, t) })
	if len(left) == len(j.waiting) {
		return
	}
	if len(left) == 0 {
		s.stats.Cancelled++
		s.finish(j, federation.Cancelled, 0, "")
		return
	}
	s.touch(j)
	s.pending -= len(j.waiting) - len(left)
	j.waiting = left
	s.record(j)
}

// signalRun sends a signal to what runs: the batch shell dies of it unless it has a trap.
func (s *Site) signalRun(j *job, sig federation.Signal) {
	r := j.run
	n := signalNumber(sig.Name)
	if r == nil || !r.End.IsZero() || n == 0 {
		return
	}
	r.signals = append(r.signals, sig)
	switch n {
	case 17, 18, 19, 20, 21, 22, 23, 28: // ignored or job control
		return
	}
	trap, trapped := r.does.Traps[signalName(sig.Name)]
	switch {
	case trapped && !trap.Exits:
	case trapped:
		s.endRun(r, RunCompleted, trap.Code)
		s.deliver(r)
	default:
		s.endRun(r, RunCompleted, int32(n))
		s.deliver(r)
	}
}

// Hold holds a pending job, or lets it go.
func (s *Site) Hold(c Caller, id uint32, hold bool) error {
	s.lock()
	defer s.mu.Unlock()
	return s.update(c, id, &wire.JobDesc{Hold: &hold})
}

// Requeue puts a job that runs or has ended back into the queue, as scontrol requeue does.
func (s *Site) Requeue(c Caller, id uint32) error {
	s.lock()
	defer s.mu.Unlock()
	j := s.jobs[id]
	switch {
	case s.down:
		return errController
	case j == nil:
		return errJobID
	case !s.mayTouch(c, j):
		return errDenied
	case j.state == federation.Pending:
		return errTransition
	}
	s.requeue(j, RunRequeued)
	s.schedule()
	return nil
}

// requeueNamed requeues the records that a target names and that run or have ended.
func (s *Site) requeueNamed(c Caller, text string) error {
	t, err := s.parseTarget(text)
	if err != nil {
		return err
	}
	list := s.records(t)
	switch {
	case s.down:
		return errController
	case len(list) == 0:
		return errJobID
	case !s.mayTouch(c, list[0]):
		return errDenied
	}
	err = errTransition
	for _, j := range list {
		if j.state != federation.Pending && (t.tasks == nil || slices.Contains(t.tasks, j.task)) {
			s.requeue(j, RunRequeued)
			err = nil
		}
	}
	s.schedule()
	return err
}

// Update changes a job as POST /job/{id} does; of an array, every record that has not ended.
func (s *Site) Update(c Caller, id uint32, d *wire.JobDesc) error {
	s.lock()
	defer s.mu.Unlock()
	return s.update(c, id, d)
}

func (s *Site) update(c Caller, id uint32, d *wire.JobDesc) error {
	if s.down {
		return errController
	}
	list := s.records(target{id: id})
	if len(list) == 0 {
		return errJobID
	}
	if !s.mayTouch(c, list[0]) {
		return errDenied
	}
	err := error(errFinished)
	due := s.passDue
	for _, j := range list {
		if j.state.Ended() {
			continue
		}
		if e := s.updateRecord(c, j, d); e == nil || err == errFinished {
			err = e
		}
	}
	// slurmctld answers an update first and looks at its queue later, unlike a submission.
	s.passDue = due
	s.push(s.now+int64(updateDelay), event{kind: evPass})
	return err
}

// updateDelay is how long after an update the scheduler acts on it.
const updateDelay = 100 * time.Millisecond

func (s *Site) updateRecord(c Caller, j *job, d *wire.JobDesc) error {
	hold, release := holdOf(d)
	if j.state != federation.Pending && (hold || release || d.BeginTime.Set || d.Partition != "") {
		return errNotPending
	}
	if release && j.held == federation.HeldAdmin && !s.operator(c) {
		return errDenied
	}
	s.touch(j)
	s.dequeue(j)
	switch {
	case hold && j.user.Name != c.Name:
		j.held = federation.HeldAdmin
	case hold:
		j.held = federation.HeldUser
	case release:
		j.held = federation.NotHeld
	}
	if d.Comment != "" {
		j.comment = d.Comment
	}
	if d.BeginTime.Set {
		j.begin = d.BeginTime.Number * int64(time.Second)
	}
	if d.Nice != nil {
		if old := j.desc.Nice; old != nil {
			j.prio += int64(*old)
		}
		j.prio -= int64(*d.Nice)
		j.desc.Nice = d.Nice
	}
	if d.Priority.Set && d.Priority.Number > 0 {
		if !s.operator(c) {
			s.enqueue(j)
			return errPriority
		}
		j.prio = d.Priority.Number
	}
	err := s.updateLimit(c, j, d)
	s.enqueue(j)
	s.record(j)
	return err
}

func holdOf(d *wire.JobDesc) (hold, release bool) {
	switch {
	case d.Hold != nil:
		return *d.Hold, !*d.Hold
	case d.Priority.Set:
		return d.Priority.Number == 0, false
	}
	return false, d.Priority.Infinite
}

// updateLimit: users may only lower a limit.
func (s *Site) updateLimit(c Caller, j *job, d *wire.JobDesc) error {
	if !d.TimeLimit.Set {
		return nil
	}
	limit := int64(time.Duration(d.TimeLimit.Number) * time.Minute)
	if (limit > j.limit && j.limit > 0) && !s.operator(c) {
		return errDenied
	}
	j.limit = limit
	if j.state == federation.Running {
		j.gen++
		s.push(max(s.now, j.start+limit), event{kind: evLimit, job: j, gen: j.gen})
	}
	return nil
}
