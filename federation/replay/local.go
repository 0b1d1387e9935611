package replay

import (
	"container/heap"
	"fmt"
	"math/rand"
	"slices"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/federation/predict"
	"fsub/sbatch"
)

// LocalJob is a job that its user submits at a site, and not to the federation.
type LocalJob struct {
	Job
	Site federation.SiteName
}

// AtSites has a share of the jobs submitted at sites, each drawn by size from those that are large enough for it. It returns the other jobs, and for each of them the site
// where it would be submitted if there were no federation.
func AtSites(jobs []Job, sites []*federation.Site, share float64, seed int64) (others []Job, local, without []LocalJob) {
	rng := rand.New(rand.NewSource(seed))
	for _, j := range jobs {
		at := LocalJob{j, drawn(rng, sites, GPUs(j.Job), max(j.Needs().MinNodes, 1))}
		if rng.Float64() < share {
			local = append(local, at)
		} else {
			others, without = append(others, j), append(without, at)
		}
	}
	return others, local, without
}

// drawn is a site that has so many GPUs and nodes; the largest one if none has.
func drawn(rng *rand.Rand, sites []*federation.Site, gpus, nodes int) federation.SiteName {
	sum, size, largest := 0, make([]int, len(sites)), 0
	for i, s := range sites {
		has := 0
		for _, n := range s.Seen.Nodes {
			for _, g := range n.GRES {
				if g.Name == "gpu" {
					has += g.Total
				}
			}
		}
		if has >= gpus && len(s.Seen.Nodes) >= nodes {
			size[i] = max(has, len(s.Seen.Nodes))
			sum += size[i]
		}
		if len(s.Seen.Nodes) > len(sites[largest].Seen.Nodes) {
			largest = i
		}
	}
	if sum == 0 {
		return sites[largest].Name
	}
	at, i := rng.Intn(sum), 0
	for ; at >= size[i]; i++ {
		at -= size[i]
	}
	return sites[i].Name
}

// local is the sites' own queues, where jobs stand that were submitted there beside those that the planner has bound. A site looks at its queue in the order in which jobs
// came there, keeps nodes for the first ones that cannot start and starts others beside them, by their time limits: it is a [place.World] of its own, of one site and
// without forecasts. The planner sees who waits there and how long others have waited.
type local struct {
	r      *run
	next   int // of the jobs that come
	queues map[federation.SiteName]*queueAt
	waits  predict.Waits // as the planner has seen them
	first  int           // number of the first local job among all
}

// queueAt is the queue of one site.
type queueAt struct {
	world   *place.World
	list    []standing
	seat    map[federation.JobID]int64
	seats   int64
	starts  map[federation.JobID][]start
	changed bool
	outlook decision.Outlook
	made    time.Time
}

// standing is a job that waits there.
type standing struct {
	number int // see local.job
	since  time.Time
}

// outlookEvery is how long a forecast of the waits at a site stands.
const outlookEvery = time.Minute

func newLocal(r *run) (*local, error) {
	l := &local{r: r, queues: map[federation.SiteName]*queueAt{}, waits: predict.Waits{}, first: len(r.cfg.Jobs)}
	for _, s := range r.fleet.sites {
		p := place.DefaultPolicy()
		p.Backlog, p.Reservations = -1, r.cfg.Policy.Reservations
		q := &queueAt{world: place.NewWorld(p, r.cfg.Seed), seat: map[federation.JobID]int64{}, starts: map[federation.JobID][]start{}}
		q.world.SetPriority(func(j *federation.Job, _ *decision.Expected) int64 { return -q.seat[j.ID] })
		q.world.OnStart(func(j *federation.Job, site federation.SiteName, held federation.RunningJob) {
			q.starts[j.ID] = append(q.starts[j.ID], start{site, held})
		})
		l.queues[s.site.Name] = q
	}
	r.res.Local = make([]Outcome, len(r.cfg.Local))
	for i := range r.cfg.Local {
		j := &r.cfg.Local[i]
		_, ours := r.index[j.ID]
		switch {
		case ours:
			return nil, fmt.Errorf("job %d is there twice", j.ID)
		case l.queues[j.Site] == nil:
			return nil, fmt.Errorf("job %d is submitted at site %q, which is not there", j.ID, j.Site)
		case i > 0 && j.Submit.Before(r.cfg.Local[i-1].Submit):
			return nil, fmt.Errorf("job %d comes before the job that it stands behind", j.ID)
		}
		r.res.Local[i] = Outcome{Job: r.cfg.Local[i].Job.Job, Submit: r.cfg.Local[i].Submit, Site: r.cfg.Local[i].Site}
	}
	return l, nil
}

// job is a job and its outcome by its number: first those of the federation, then the others.
func (l *local) job(number int) (*Job, *Outcome) {
	if number < l.first {
		return &l.r.cfg.Jobs[number], &l.r.res.Jobs[number]
	}
	return &l.r.cfg.Local[number-l.first].Job, &l.r.res.Local[number-l.first]
}

// submit has the jobs come to the sites whose time has.
func (l *local) submit() (changed bool) {
	for all := l.r.cfg.Local; l.next < len(all) && !all[l.next].Submit.After(l.r.now); l.next++ {
		l.join(l.first+l.next, all[l.next].Site)
		changed = true
	}
	return changed
}

// join puts a job into the queue of a site.
func (l *local) join(number int, site federation.SiteName) {
	q := l.queues[site]
	j, _ := l.job(number)
	q.seats++
	q.seat[j.ID] = q.seats
	q.list = append(q.list, standing{number, l.r.now})
	q.world.SetJob(place.Waiting{Job: j.Job})
	q.changed = true
}

// schedule has the sites start what they can.
func (l *local) schedule() {
	for _, s := range l.r.fleet.sites {
		q := l.queues[s.site.Name]
		if !s.dirty && !q.changed {
			continue
		}
		q.changed = false
		if len(q.list) == 0 {
			continue
		}
		q.world.SetSite(s.look(l.r.now, nil, nil))
		q.world.SetTime(l.r.now)
		clear(q.starts)
		for _, d := range q.world.Decide() {
			if held := q.starts[d.Job]; d.Bind && len(held) > 0 {
				i := slices.IndexFunc(q.list, func(w standing) bool { j, _ := l.job(w.number); return j.ID == d.Job })
				l.begin(q.list[i].number, &d, held)
				q.list = slices.Delete(q.list, i, i+1)
				delete(q.seat, d.Job)
				q.world.DropJob(d.Job)
			}
		}
	}
}

// begin starts a job.
func (l *local) begin(number int, d *decision.Decision, held []start) {
	r := l.r
	j, o := l.job(number)
	offer := d.Offers[0]
	o.Start = r.now
	o.End = o.Start.Add(r.fleet.lasts(offer, j.Run))
	o.GPUs = offer.GPUs
	for k := range held {
		h := &held[k].held
		o.CPUs += h.CPUs * len(h.Nodes)
		h.User, h.Account, h.QOS, h.Partition = j.User, j.Spec.Account, j.Spec.QOS, offer.Partition
		if limit := limitOf(j); limit > 0 {
			h.End, h.Limit = r.now.Add(limit), limit
		}
		r.fleet.take(&held[k], r.now, o.Start)
	}
	if number < l.first {
		o.Cost = costOf(offer, j.Run)
		r.know.started(j, o.Start)
		r.order.started(o)
	}
	heap.Push(&r.ends, end{o.End, number, slices.Clone(held)})
	r.live++
}

// show tells the planner's world how the sites stand.
func (l *local) show() {
	r := l.r
	for _, s := range r.fleet.sites {
		q := l.queues[s.site.Name]
		s.dirty = false
		site := s.look(r.now, l.waiting(q, s.parts[0].Name), q.outlook)
		l.waits.Look(site.Name, site.Seen)
		if w := l.waits[site.Name]; w != nil && (q.outlook == nil || r.now.Sub(q.made) >= outlookEvery) {
			q.outlook, q.made = w.Outlook(r.now), r.now
			site.Outlook = q.outlook
		}
		r.world.SetSite(site)
	}
}

// waiting is who waits at a site, as a look shows them.
func (l *local) waiting(q *queueAt, partition string) []federation.WaitingJob {
	var out []federation.WaitingJob
	for _, w := range q.list {
		j, _ := l.job(w.number)
		d := j.Needs()
		size := d.Size(0)
		limit := limitOf(j)
		if limit == 0 {
			limit = sbatch.Unlimited
		}
		out = append(out, federation.WaitingJob{Job: j.ID, Ours: w.number < l.first, Submit: w.since, Nodes: max(d.MinNodes, 1), CPUs: size.CPUs, GRES: []federation.GRES{{Name: "gpu", Total: GPUs(j.Job)}},
			Stake: federation.Stake{User: j.User, Account: j.Spec.Account, Partition: partition, Limit: limit}})
	}
	return out
}
