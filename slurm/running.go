package slurm

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"fsub/federation"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// runningJobs remembers the details of jobs that hold nodes, by the number of their record. They seldom change while the
// job runs: a longer time limit is noticed when the entry has grown old.
type runningJobs map[int64]runningJob

type runningJob struct {
	federation.RunningJob
	read time.Time
}

// holders remembers the jobs that hold nodes, and those that wait for some.
type holders struct {
	*site
	queue   *queue
	mu      sync.Mutex
	running runningJobs
	waiting waitingJobs
	begun   begun  // those whose details were left to a later look
	boot    int64  // when the controller of a mapped site began to count, as these have it
	defPart string // learned from a job that named no partition
}

// maxAge is how long the details of a running job are believed.
const maxAge = 5 * time.Minute

// waitingJobs is runningJobs for those that wait.
type waitingJobs map[int64]waitingJob

type waitingJob struct {
	federation.WaitingJob
	read time.Time
}

// waitingReads bounds the waiting jobs whose details are read in one look, so that looking does not
// slow a site down.
const waitingReads = 4

// look returns every job that holds nodes, and those that wait, with details that are asked for once.
func (h *holders) look(ctx context.Context, st standing, v *view) ([]federation.RunningJob, []federation.WaitingJob, error) {
	now, rows := h.c.now(), v.rows
	next, waits := runningJobs{}, waitingJobs{}
	if v.records != nil {
		running, waiting := h.heldBy(st, v.records)
		return running, waiting, nil
	}
	var ask, who []int64
	h.mu.Lock()
	for _, r := range rows {
		if !holdsNodes(r.state) {
			if state(r.state) != federation.Pending {
				continue
			}
			if j, ok := h.waiting[r.id]; ok && now.Sub(j.read) < maxAge {
				waits[r.id] = j
			} else if len(who) < waitingReads {
				who = append(who, r.id)
			}
			continue
		}
		if j, ok := h.running[r.id]; ok && now.Sub(j.read) < maxAge && (j.End.IsZero() || now.Before(j.End)) {
			next[r.id] = j
		} else {
			ask = append(ask, r.id)
		}
	}
	until := half(ctx)
	if st.mapped {
		until = never // whose a job is stands in its details alone
	}
	ask, begun := h.begun.ripe(ask, st.mapped || h.queue.bulk.suits(len(ask), len(rows)), now)
	h.mu.Unlock()
	records, unread, err := h.queue.runningRecords(ctx, ask, len(rows), until)
	if err != nil {
		return nil, nil, err
	}
	more, _, err := h.queue.oneByOne(ctx, who, never)
	if err != nil {
		return nil, nil, err
	}
	for i := range more {
		if r := &more[i]; state(r.State) == federation.Pending {
			waits[r.JobID] = waitingJob{h.waits(st, r), now}
		}
	}
	for i := range records {
		if r := &records[i]; holdsNodes(r.State) {
			h.learnDefault(r)
			next[r.JobID] = runningJob{RunningJob: h.holds(st, r), read: now}
		}
	}
	out := make([]federation.RunningJob, 0, len(next))
	for _, j := range next {
		out = append(out, j.RunningJob)
	}
	begun = begun.with(unread, now)
	for id := range begun {
		if _, read := next[id]; !read && h.cfg.ours(id) {
			out = append(out, federation.RunningJob{Job: federation.JobID(id)})
		}
	}
	var waiting []federation.WaitingJob
	for _, j := range waits {
		waiting = append(waiting, j.WaitingJob)
	}
	h.mu.Lock()
	for id, j := range h.running { // what was read meanwhile
		if j.read.After(now) {
			next[id] = j
		}
	}
	h.running, h.waiting, h.begun = next, waits, begun
	h.mu.Unlock()
	inOrder(out, waiting)
	return out, waiting, nil
}

// noteRunning keeps what was read of jobs of ours that hold nodes, so that it is not asked for again.
func (h *holders) noteRunning(st standing, ids []number, records map[number][]wire.Job) {
	now := h.c.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		for i := range records[id] {
			if r := &records[id][i]; h.running != nil && holdsNodes(r.State) {
				h.running[r.JobID] = runningJob{RunningJob: h.holds(st, r), read: now}
			}
		}
	}
}

// inOrder sorts what is listed of jobs, so that equal looks are equal.
func inOrder(running []federation.RunningJob, waiting []federation.WaitingJob) {
	slices.SortFunc(running, func(a, b federation.RunningJob) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), slices.Compare(a.Nodes, b.Nodes), a.End.Compare(b.End))
	})
	slices.SortFunc(waiting, func(a, b federation.WaitingJob) int {
		return cmp.Or(cmp.Compare(a.Job, b.Job), a.Start.Compare(b.Start), cmp.Compare(a.Priority, b.Priority))
	})
}

// heldBy translates the records of those jobs that hold nodes, and of those that wait.
func (h *holders) heldBy(st standing, records []wire.Job) (running []federation.RunningJob, waiting []federation.WaitingJob) {
	for i := range records {
		switch r := &records[i]; {
		case holdsNodes(r.State):
			running = append(running, h.holds(st, r))
		case state(r.State) == federation.Pending:
			waiting = append(waiting, h.waits(st, r))
		}
	}
	inOrder(running, waiting)
	return running, waiting
}

// holdsNodes reports whether a job in this state keeps nodes from others.
func holdsNodes(l wire.Strings) bool {
	s := state(l)
	return s.Started() || l.Has(wire.FlagCompleting)
}

// holds is what a job holds, under the name that it has here.
func (h *holders) holds(st standing, r *wire.Job) federation.RunningJob {
	j := holder(r)
	j.Job, _ = h.numberHere(st, r)
	return j
}

// waits is what a job that waits asks for.
func (h *holders) waits(st standing, r *wire.Job) federation.WaitingJob {
	j := federation.WaitingJob{Start: unix(r.StartTime.Value()), Submit: unix(r.SubmitTime.Value()), Nodes: int(r.NodeCount.Value()), CPUs: int(r.CPUs.Value()), Nice: r.Nice, Stake: stake(r)}
	j.Job, j.Ours = h.numberHere(st, r)
	j.Idle = !slices.Contains(nodesWanted, r.StateReason)
	j.Whole = len(r.Shared) > 0 && r.Shared[0] != "oversubscribe" && r.Shared[0] != ""
	if n, kind := gpus(r.TRESReq); n > 0 {
		j.GRES = []federation.GRES{{Name: "gpu", Type: kind, Total: n}}
	}
	return j
}

// nodesWanted are the reasons of a job that waits for nodes alone.
var nodesWanted = []string{"", "None", "Resources", "Priority"}

// numberHere is the number by which the federation knows a record's job, and whether it is ours.
func (at *site) numberHere(st standing, r *wire.Job) (id federation.JobID, ours bool) {
	id = federation.JobID(r.JobID)
	if a := r.ArrayJobID.Value(); a != 0 {
		id = federation.JobID(a)
	}
	inRange := at.cfg.ours(int64(id))
	if !st.mapped {
		return at.pinnedName(r, id).job, inRange
	}
	if n, ours := at.nameIn(r); ours {
		return n.job, true
	}
	if inRange { // it only looks like one of ours
		return 0, false
	}
	return id, false
}

// holder is what a job holds, the most that it has on any of its nodes.
func holder(r *wire.Job) federation.RunningJob {
	j := federation.RunningJob{Job: federation.JobID(r.JobID), Stake: stake(r)}
	if !r.TimeLimit.Infinite && r.EndTime.Value() > 0 {
		j.End = unix(r.EndTime.Value())
	}
	if a := r.ArrayJobID.Value(); a != 0 {
		j.Job = federation.JobID(a)
	}
	j.Nodes, _ = hostlist.Expand(r.Nodes) // slurmctld's own list
	if r.JobResources != nil {
		for _, n := range r.JobResources.Nodes.Allocation {
			j.CPUs = max(j.CPUs, int(n.CPUs.Count))
			j.Mem = max(j.Mem, sbatch.MemMiB(n.Memory.Allocated))
		}
	}
	for _, detail := range r.GRESDetail {
		for _, g := range parseGRES(detail) {
			i := indexGRES(j.GRES, g)
			if i < 0 {
				j.GRES = append(j.GRES, federation.GRES{Name: g.Name, Type: g.Type})
				i = len(j.GRES) - 1
			}
			j.GRES[i].Used = max(j.GRES[i].Used, g.Total)
		}
	}
	return j
}

// stake is whose a job is, and how it stands.
func stake(r *wire.Job) federation.Stake {
	return federation.Stake{User: r.UserName, Account: r.Account, QOS: r.QOS, Partition: r.Partition, Priority: r.Priority.Value(), Limit: minutes(r.TimeLimit)}
}

// learnDefault notes the partition of a job that named none.
func (h *holders) learnDefault(r *wire.Job) {
	if r.Flags.Has("USING_DEFAULT_PARTITION") && r.Partition != "" {
		h.mu.Lock()
		h.defPart = r.Partition
		h.mu.Unlock()
	}
}

// defaultPartition is the one that a job without a wish was seen in, "" if none was.
func (h *holders) defaultPartition() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.defPart
}

// renice reckons a changed nice value into what is known of a job that waits: slurmctld has worked out the same by now.
func (h *holders) renice(id, nice int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w, ok := h.waiting[id]; ok {
		w.Priority, w.Nice = w.Priority+w.Nice-nice, nice
		h.waiting[id] = w
	}
}
