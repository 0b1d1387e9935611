package simsite

import (
	"time"

	"fsub/federation"
	"fsub/federation/reasons"
)

// run is a start with what the node needs to know of it.
type run struct {
	Run
	job       *job
	does      *Behaviour
	shares    []share
	delivered bool                // its end was told to a controller
	signals   []federation.Signal // what it was sent, by name
}

// start runs a job, or the next task of an array, on shares of nodes.
func (s *Site) start(j *job, p *partition, shares []share) {
	if j.isArray() {
		j = s.splitTask(j)
	} else {
		s.touch(j)
		s.dequeue(j)
	}
	j.gen++
	j.state, j.part, j.shares, j.nodes = federation.Running, p, shares, foldNodes(shares)
	j.start, j.end, j.stateText = s.now, 0, ""
	j.tres = tresOf(j)
	if j.limit == 0 && p.DefaultTime > 0 && !j.unlimited {
		j.limit = int64(p.DefaultTime)
	}
	for i := range shares {
		shares[i].n.take(&shares[i], j.need.exclusive)
	}
	s.pending--
	s.running++
	s.stats.Started++
	if a := s.arrays[j.array]; a != nil {
		a.running++
		s.throttle(a)
	}
	does := &j.does
	if b := s.broken[foldNodes(shares)]; b != nil {
		does = b
	}
	r := &run{Run: Run{JobID: j.id, Array: j.array, Task: j.task, Key: j.key, Restart: j.restarts, User: j.user.Name, Nodes: j.nodes,
		Start: stamp(s.now)}, job: j, does: does, shares: shares}
	j.run = r
	s.active[r] = struct{}{}
	s.runs[j.groupID()] = append(s.runs[j.groupID()], r)
	s.push(s.now+int64(does.Run), event{kind: evRunEnd, run: r})
	if j.limit > 0 && j.limit < int64(does.Run) {
		s.push(s.now+j.limit, event{kind: evLimit, job: j, gen: j.gen})
	}
	s.record(j)
}

// groupID is the ID that the federation knows: the array's for a task.
func (j *job) groupID() uint32 {
	if j.array != 0 {
		return j.array
	}
	return j.id
}

// runEnds: a script has come to its end at the node.
func (s *Site) runEnds(r *run) {
	if !r.End.IsZero() {
		return
	}
	if r.does.KillsNode {
		s.endRun(r, RunNodeFail, 0)
	} else {
		s.endRun(r, RunCompleted, r.does.Exit)
	}
	if s.down {
		return // told when the controller is back
	}
	s.deliver(r)
}

// endRun ends what runs at the nodes. The controller is not told.
func (s *Site) endRun(r *run, o Outcome, exit int32) {
	r.End, r.Outcome, r.Exit = stamp(s.now), o, exit
	delete(s.active, r)
}

// deliver tells the controller that a run has ended.
func (s *Site) deliver(r *run) {
	r.delivered = true
	j := r.job
	if s.jobs[j.id] != j || j.run != r || j.state != federation.Running {
		return
	}
	if r.does.KillsNode {
		s.nodeDown(j.shares[0].n, "Not responding")
		return
	}
	if r.Exit != 0 {
		s.finish(j, federation.Failed, r.Exit, string(reasons.NonZeroExit))
		return
	}
	s.finish(j, federation.Completed, 0, "")
}

// killRun ends a job's processes by order of the controller.
func (s *Site) killRun(j *job, o Outcome) {
	if r := j.run; r != nil && r.End.IsZero() {
		s.endRun(r, o, 15)
		r.delivered = true
	}
}

// finish ends a job in the controller's books and gives its nodes back.
func (s *Site) finish(j *job, state federation.State, exit int32, why string) {
	s.touch(j)
	s.dequeue(j)
	j.closing = s.cfg.Completing > 0 && j.state == federation.Running
	s.release(j)
	if j.start == 0 {
		j.start = s.now
	}
	j.state, j.exit, j.stateText, j.end = state, exit, why, s.now
	j.gen++
	if j.closing {
		s.push(s.now+int64(s.cfg.Completing), event{kind: evComplete, job: j, gen: j.gen})
	}
	s.stats.Ended++
	s.ended = append(s.ended, due{j, s.now + int64(s.cfg.MinJobAge)})
	s.record(j)
	if a := s.arrays[j.array]; a != nil {
		a.alive--
		s.unthrottle(a)
	}
}

// free gives back the nodes of a job that was COMPLETING.
func (s *Site) free(j *job) {
	s.touch(j)
	s.give(j)
	j.closing = false
	s.passDue = true
}

func (s *Site) give(j *job) {
	for i := range j.shares {
		j.shares[i].n.give(&j.shares[i], j.need.exclusive)
	}
}

// release takes a job out of the counts and gives back what it holds, unless its nodes need time for that.
func (s *Site) release(j *job) {
	if j.state == federation.Running {
		if !j.closing {
			s.give(j)
		}
		s.running--
		if a := s.arrays[j.array]; a != nil {
			a.running--
		}
	} else if j.state == federation.Pending {
		s.pending -= j.units()
	}
	s.passDue = true
}

// units is how many jobs a pending record stands for.
func (j *job) units() int { return max(1, len(j.waiting)) }

// requeue puts a job that runs or has ended back into the queue under its ID, as a new record of the books.
func (s *Site) requeue(j *job, o Outcome) {
	s.touch(j)
	s.killRun(j, o)
	if a := s.arrays[j.array]; a != nil && j.state.Ended() {
		a.alive++
	}
	if j.closing {
		s.free(j)
	}
	s.release(j)
	s.closeRecord(j, o)
	j.gen++
	j.state, j.stateText, j.shares, j.nodes = federation.Pending, "", nil, ""
	j.start, j.end, j.eligible, j.exit = 0, 0, 0, 0
	j.restarts++
	submit := s.now
	if submit/int64(time.Second) == j.submit/int64(time.Second) {
		submit += int64(time.Second) // the books tell records of one ID apart by the second
	}
	j.submit = submit
	j.begin = s.now + int64(requeueDelay)
	j.row = nil
	s.pending++
	s.stats.Requeued++
	s.record(j)
	s.enqueue(j)
}

// requeueDelay is how long Slurm keeps a requeued job back, until old credentials have expired.
const requeueDelay = 121 * time.Second

// lost: the nodes that ran a job are gone. It goes back into the queue if it may, else it ends as NODE_FAIL.
func (s *Site) lost(j *job, exit int32) {
	s.killRun(j, RunNodeFail)
	if j.desc.Requeue == nil || *j.desc.Requeue {
		s.requeue(j, RunNodeFail)
		return
	}
	s.finish(j, federation.NodeFail, exit, string(reasons.NodeDown))
}

// batchMissing: a node has not known a job for so long after the controller's start that it must be gone.
func (s *Site) batchMissing(j *job) {
	if j.state == federation.Running && !j.run.End.IsZero() {
		s.lost(j, 1<<8)
	}
}

// stamp is a time of the site as people read it; 0 is the zero time.
func stamp(ns int64) time.Time {
	if ns == 0 {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}
