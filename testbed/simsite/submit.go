package simsite

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/slurm/wire"
)

// Submit gives a job to the controller, as POST /job/submit does. Warnings are what slurmrestd would remark. An error is
// a [*Refusal] or a fault. The description is kept: do not change it afterwards.
func (s *Site) Submit(c Caller, d *wire.JobDesc) (id uint32, warnings []string, err error) {
	s.lock()
	defer s.mu.Unlock()
	return s.submit(c, d)
}

func (s *Site) submit(c Caller, d *wire.JobDesc) (uint32, []string, error) {
	if s.down {
		return 0, nil, errController
	}
	if err := s.checkDesc(d); err != nil {
		return 0, nil, err
	}
	if err := s.checkID(c, d); err != nil {
		return 0, nil, err
	}
	u, err := s.ownerOf(c, d)
	if err != nil {
		return 0, nil, err
	}
	j := &job{desc: d, user: u, does: ParseScript(d.Script), key: keyOf(d)}
	j.task, j.comment, j.qos = -1, d.Comment, d.QOS
	def(&j.qos, "normal")
	if err := s.fillJob(j, d); err != nil {
		return 0, nil, err
	}
	if j.part.RootOnly && !c.Privileged { // who submits, not for whom
		return 0, nil, errDenied
	}
	s.file(j, uint32(d.JobID))
	s.schedule()
	return j.id, s.remarks(j), nil
}

// checkDesc makes the checks that need no look at the site.
func (s *Site) checkDesc(d *wire.JobDesc) error {
	switch {
	case d.Script == "":
		return errNoScript
	case len(d.Script) > s.cfg.MaxScript:
		return errTooLong
	case d.WorkDir == "":
		return errNoWorkDir
	case len(d.Environment) == 0 && s.modern():
		return errNoEnv
	case len(d.Environment) == 0:
		return errIO
	}
	for _, text := range [...]string{d.Name, d.Comment, d.Extra, d.WorkDir, d.StdOut, d.StdErr, d.StdIn, d.Account, d.Constraints} {
		if len(text) > 1024 {
			return errTooLong
		}
	}
	return nil
}

// checkID: only root and SlurmUser choose an ID, and only one that the controller does not hold.
func (s *Site) checkID(c Caller, d *wire.JobDesc) error {
	switch {
	case d.JobID == 0:
		return nil
	case !c.Privileged:
		return errJobID
	case d.JobID < 0 || d.JobID >= 1<<32:
		return errJobID
	case s.jobs[uint32(d.JobID)] != nil:
		return errDuplicate
	}
	return nil
}

func (s *Site) ownerOf(c Caller, d *wire.JobDesc) (*user, error) {
	u := s.userByName(c.Name)
	if d.UserID != "" {
		n, err := strconv.ParseUint(string(d.UserID), 10, 32)
		if err != nil {
			if u = s.userByName(string(d.UserID)); u == nil {
				return nil, errUserID
			}
		} else if u = s.userByUID(uint32(n)); u == nil {
			return nil, errUserID
		}
		if !c.Privileged && u.Name != c.Name {
			return nil, errUserID
		}
	}
	if u == nil {
		return nil, errUserID
	}
	return u, nil
}

// fillJob checks a job against the site and fills its record.
func (s *Site) fillJob(j *job, d *wire.JobDesc) error {
	var err error
	if j.account, err = s.accountOf(j.user, d.Account); err != nil {
		return err
	}
	if j.need, err = s.needOf(d); err != nil {
		if errors.Is(err, errNodeConfig) {
			s.fileImpossible(j)
		}
		return err
	}
	j.part = j.need.parts[0]
	if err := s.checkPartition(j, d); err != nil {
		return err
	}
	if r := j.need.resv; r != nil && !r.mayUse(j.user.Name, j.account) {
		return errRsvAccess
	}
	if d.Array != "" {
		if j.waiting, _, err = s.parseArray(d.Array); err != nil {
			return err
		}
	}
	return nil
}

func (s *Site) checkPartition(j *job, d *wire.JobDesc) error {
	p := j.part
	if len(p.AllowAccounts) > 0 && !slices.Contains(p.AllowAccounts, j.account) || slices.Contains(p.DenyAccounts, j.account) {
		return errPartConfig
	}
	if p.State == "DRAIN" || p.State == "INACTIVE" {
		return errPartConfig
	}
	j.setLimit(d.TimeLimit)
	if !s.cfg.EnforcePartLimits {
		return nil
	}
	switch s.partLimit(j, p) {
	case reasons.PartitionTime:
		return errTimeLimit
	case reasons.PartitionNodes:
		return errNodeCount
	}
	return nil
}

// setLimit takes a time limit in minutes; without one the partition's default or maximum holds.
func (j *job) setLimit(minutes wire.Number) {
	j.unlimited = minutes.Infinite
	if minutes.Set && !minutes.Infinite {
		j.limit = int64(time.Duration(minutes.Number) * time.Minute)
		return
	}
	j.limit = 0
	switch {
	case minutes.Infinite:
	case j.part.DefaultTime > 0:
		j.limit = int64(j.part.DefaultTime)
	case j.part.MaxTime > 0 && j.part.MaxTime != sbatch.Unlimited:
		j.limit = int64(j.part.MaxTime)
	}
}

// file gives a checked job its ID and puts it into the queue.
func (s *Site) file(j *job, id uint32) {
	if id == 0 {
		id = s.takeID()
	}
	d := j.desc
	j.id, j.state, j.submit = id, federation.Pending, s.now
	if len(j.waiting) > 0 {
		j.array = id
		_, limit, _ := s.parseArray(d.Array)
		s.arrays[id] = &array{id: id, max: limit, alive: 1}
	}
	j.setPriority(s, d)
	if d.BeginTime.Set && d.BeginTime.Number > 0 {
		j.begin = d.BeginTime.Number * int64(time.Second)
	}
	s.pending += j.units()
	s.stats.Submitted++
	s.addJob(j)
	s.record(j)
	s.enqueue(j)
}

func (j *job) setPriority(s *Site, d *wire.JobDesc) {
	s.prio--
	j.prio = s.prio
	if d.Nice != nil {
		j.prio -= int64(*d.Nice)
	}
	switch {
	case d.Hold != nil && *d.Hold:
		j.held = federation.HeldUser
	case d.Priority.Set && d.Priority.Number == 0:
		j.held = federation.HeldUser
	}
}

// fileImpossible leaves the record that a real controller leaves of a job that it has refused with 2014: the client
// gets no ID, and yet the ID is used.
func (s *Site) fileImpossible(j *job) {
	j.need = &need{parts: s.parts[:1], minNodes: 1, tasks: 1, cpusTask: 1}
	j.part = s.parts[0]
	j.id = uint32(j.desc.JobID)
	if j.id == 0 {
		j.id = s.takeID()
	}
	j.state, j.submit = federation.Pending, s.now
	s.pending++
	s.addJob(j)
	s.finish(j, federation.Failed, 1<<8, string(reasons.BadConstraints))
}

// remarks are the warnings that slurmrestd adds to an accepted job.
func (s *Site) remarks(j *job) []string {
	switch {
	case j.held != federation.NotHeld:
		return []string{"Job is in held state, pending scheduler release"}
	case j.state == federation.Pending && j.queued && strings.HasPrefix(string(s.reasonOf(j)), "Part"):
		return []string{errPartConfig.Text}
	}
	return nil
}
