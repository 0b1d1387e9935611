package slurm

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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

// holders returns every job that holds nodes, and those that wait, with details that are asked for once.
func (d *Driver) holders(ctx context.Context, st standing, v *view) ([]federation.RunningJob, []federation.WaitingJob, error) {
	now, rows := d.c.now(), v.rows
	next, waits := runningJobs{}, waitingJobs{}
	if v.records != nil {
		running, waiting := d.heldBy(st, v.records)
		return running, waiting, nil
	}
	var ask, who []int64
	d.mu.Lock()
	for _, r := range rows {
		if !holdsNodes(r.state) {
			if state(r.state) != federation.Pending {
				continue
			}
			if j, ok := d.waiting[r.id]; ok && now.Sub(j.read) < maxAge {
				waits[r.id] = j
			} else if len(who) < waitingReads {
				who = append(who, r.id)
			}
			continue
		}
		if j, ok := d.running[r.id]; ok && now.Sub(j.read) < maxAge && (j.End.IsZero() || now.Before(j.End)) {
			next[r.id] = j
		} else {
			ask = append(ask, r.id)
		}
	}
	ask, begun := d.begun.ripe(ask, len(rows), now)
	d.begun = begun
	d.mu.Unlock()
	records, err := d.runningRecords(ctx, ask, len(rows))
	if err != nil {
		return nil, nil, err
	}
	more, err := d.oneByOne(ctx, who)
	if err != nil {
		return nil, nil, err
	}
	for i := range more {
		if r := &more[i]; state(r.State) == federation.Pending {
			waits[r.JobID] = waitingJob{d.waits(st, r), now}
		}
	}
	for i := range records {
		if r := &records[i]; holdsNodes(r.State) {
			d.learnDefault(r)
			next[r.JobID] = runningJob{RunningJob: d.holds(st, r), read: now}
		}
	}
	out := make([]federation.RunningJob, 0, len(next))
	for _, j := range next {
		out = append(out, j.RunningJob)
	}
	for id := range begun {
		if _, read := next[id]; !read && !st.mapped && d.cfg.ours(id) {
			out = append(out, federation.RunningJob{Job: federation.JobID(id)})
		}
	}
	var waiting []federation.WaitingJob
	for _, j := range waits {
		waiting = append(waiting, j.WaitingJob)
	}
	d.mu.Lock()
	for id, j := range d.running { // what was read meanwhile
		if j.read.After(now) {
			next[id] = j
		}
	}
	d.running, d.waiting = next, waits
	d.mu.Unlock()
	inOrder(out, waiting)
	return out, waiting, nil
}

// noteRunning keeps what was read of jobs of ours that hold nodes, so that it is not asked for again.
func (d *Driver) noteRunning(st standing, ids []number, records map[number][]wire.Job) {
	now := d.c.now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		for i := range records[id] {
			if r := &records[id][i]; d.running != nil && holdsNodes(r.State) {
				d.running[r.JobID] = runningJob{RunningJob: d.holds(st, r), read: now}
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
func (d *Driver) heldBy(st standing, records []wire.Job) (running []federation.RunningJob, waiting []federation.WaitingJob) {
	for i := range records {
		switch r := &records[i]; {
		case holdsNodes(r.State):
			running = append(running, d.holds(st, r))
		case state(r.State) == federation.Pending:
			waiting = append(waiting, d.waits(st, r))
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

// runningRecords asks for the records of running jobs one by one, or for all there are if that is less work.
func (d *Driver) runningRecords(ctx context.Context, ids []int64, total int) ([]wire.Job, error) {
	if readAll(len(ids), total) {
		all, err := d.allJobs(ctx)
		if err != nil {
			return nil, err
		}
		wanted := map[int64]bool{}
		for _, id := range ids {
			wanted[id] = true
		}
		return slices.DeleteFunc(all, func(j wire.Job) bool { return !wanted[j.JobID] }), nil
	}
	return d.oneByOne(ctx, ids)
}

func (d *Driver) oneByOne(ctx context.Context, ids []int64) ([]wire.Job, error) {
	var mu sync.Mutex
	var out []wire.Job
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for _, id := range ids {
		g.Go(func() error {
			records, err := d.job(ctx, id)
			if errors.Is(err, federation.ErrNotFound) {
				return nil // ended meanwhile; or an ID that slurmrestd refuses, of a job of Slurm's own federation
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range records { // the number of an array names all its tasks
				if r.JobID == id {
					out = append(out, r)
				}
			}
			return err
		})
	}
	return out, g.Wait()
}

// holds is what a job holds, under the name that it has here.
func (d *Driver) holds(st standing, r *wire.Job) federation.RunningJob {
	j := holder(r)
	j.Job, _ = d.numberHere(st, r)
	return j
}

// waits is what a job that waits asks for.
func (d *Driver) waits(st standing, r *wire.Job) federation.WaitingJob {
	j := federation.WaitingJob{Start: unix(r.StartTime.Value()), Submit: unix(r.SubmitTime.Value()), Nodes: int(r.NodeCount.Value()), CPUs: int(r.CPUs.Value()), Nice: r.Nice, Stake: stake(r)}
	j.Job, j.Ours = d.numberHere(st, r)
	j.Idle = !slices.Contains(nodesWanted, r.StateReason)
	if n, kind := gpus(r.TRESReq); n > 0 {
		j.GRES = []federation.GRES{{Name: "gpu", Type: kind, Total: n}}
	}
	return j
}

// nodesWanted are the reasons of a job that waits for nodes alone.
var nodesWanted = []string{"", "None", "Resources", "Priority"}

// numberHere is the number by which the federation knows a record's job, and whether it is ours.
func (d *Driver) numberHere(st standing, r *wire.Job) (id federation.JobID, ours bool) {
	id = federation.JobID(r.JobID)
	if a := r.ArrayJobID.Value(); a != 0 {
		id = federation.JobID(a)
	}
	inRange := d.cfg.ours(int64(id))
	if !st.mapped {
		return id, inRange
	}
	if n, ours := d.nameIn(r); ours {
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
func (d *Driver) learnDefault(r *wire.Job) {
	if r.Flags.Has("USING_DEFAULT_PARTITION") && r.Partition != "" {
		d.mu.Lock()
		d.defPart = r.Partition
		d.mu.Unlock()
	}
}
