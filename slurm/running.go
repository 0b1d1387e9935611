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

// holders returns every job that holds nodes, with details that are asked for once.
func (d *Driver) holders(ctx context.Context, st standing, v *view) ([]federation.RunningJob, error) {
	now, rows := d.c.now(), v.rows
	next := runningJobs{}
	if v.records != nil {
		return d.heldBy(st, v.records), nil
	}
	var ask []int64
	d.mu.Lock()
	for _, r := range rows {
		if !holdsNodes(r.state) {
			continue
		}
		if j, ok := d.running[r.id]; ok && now.Sub(j.read) < maxAge && (j.End.IsZero() || now.Before(j.End)) {
			next[r.id] = j
		} else {
			ask = append(ask, r.id)
		}
	}
	d.mu.Unlock()
	records, err := d.runningRecords(ctx, ask, len(rows))
	if err != nil {
		return nil, err
	}
	for i := range records {
		if r := &records[i]; holdsNodes(r.State) {
			d.learnDefault(r)
			next[r.JobID] = runningJob{RunningJob: d.holds(st, r), read: now}
		}
	}
	d.mu.Lock()
	d.running = next
	d.mu.Unlock()
	out := make([]federation.RunningJob, 0, len(next))
	for _, j := range next {
		out = append(out, j.RunningJob)
	}
	slices.SortFunc(out, func(a, b federation.RunningJob) int { return cmp.Compare(a.Job, b.Job) })
	return out, nil
}

// heldBy translates the records of those jobs that hold nodes.
func (d *Driver) heldBy(st standing, records []wire.Job) []federation.RunningJob {
	var out []federation.RunningJob
	for i := range records {
		if holdsNodes(records[i].State) {
			out = append(out, d.holds(st, &records[i]))
		}
	}
	slices.SortFunc(out, func(a, b federation.RunningJob) int { return cmp.Compare(a.Job, b.Job) })
	return out
}

// holdsNodes reports whether a job in this state keeps nodes from others.
func holdsNodes(l wire.Strings) bool {
	s := state(l)
	return s.Started() || l.Has(wire.FlagCompleting)
}

// runningRecords asks for the records of running jobs one by one, or for all there are if that is less work.
func (d *Driver) runningRecords(ctx context.Context, ids []int64, total int) ([]wire.Job, error) {
	if len(ids) > 20 && len(ids)*20 > total {
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
	if n, ours := d.nameIn(r); st.mapped && ours {
		j.Job = n.job
	} else if st.mapped && d.cfg.ours(int64(j.Job)) { // what looks like one of ours is none
		j.Job = 0
	}
	return j
}

// holder is what a job holds, the most that it has on any of its nodes.
func holder(r *wire.Job) federation.RunningJob {
	j := federation.RunningJob{Job: federation.JobID(r.JobID)}
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

// learnDefault notes the partition of a job that named none.
func (d *Driver) learnDefault(r *wire.Job) {
	if r.Flags.Has("USING_DEFAULT_PARTITION") && r.Partition != "" {
		d.mu.Lock()
		d.defPart = r.Partition
		d.mu.Unlock()
	}
}
