package controller

import (
	"cmp"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/demand"
	"fsub/federation/quota"
	"fsub/sbatch"
)

// quotaAgain is when a job that a limit keeps back is looked at again.
const quotaAgain = 15 * time.Second

// killTime is allowed for a job to end after its limit.
const killTime = time.Minute

// overQuota says why the limits of the account tree keep a job from being bound, "" if they do not, and has it considered again. j is what waits: the job, or
// its array. Without an offer only that counts which is known of the job anywhere.
func (c *Controller) overQuota(j *job, of *federation.Job, o *federation.Offer, now time.Time) federation.Reason {
	if c.cfg.Quota == nil {
		return ""
	}
	w := c.wants(of, o)
	no := c.cfg.Quota.Check(now, &w)
	if no == nil {
		return ""
	}
	c.queue.times.add(j, now.Add(quotaAgain))
	if j.Reason != no.Reason {
		c.event(j, "waits: %s", no.Text)
	}
	return no.Reason
}

// deniedByQOS refuses what a QOS of the account tree with DenyOnLimit allows no job. It may be called at any time.
func (c *shared) deniedByQOS(j *federation.Job) error {
	if c.cfg.Quota == nil {
		return nil
	}
	w := c.wants(j, nil)
	no := c.cfg.Quota.Denies(&w)
	if no == nil {
		return nil
	}
	return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2050, Text: "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
		Said: string(no.Reason), Detail: no.Text}
}

// reserve takes what a live attempt may come to. It follows from the job and from what it was bound for, so that a later daemon takes the same.
func (c *shared) reserve(j *job) {
	if c.cfg.Quota == nil || len(j.att.Decision.Offers) == 0 {
		return
	}
	w := c.wants(&j.Job, j.att.Decision.Offers[0])
	w.Since = j.att.Created
	c.cfg.Quota.Take(j.ID, w)
}

func (c *shared) unreserve(j *job) {
	if c.cfg.Quota != nil {
		c.cfg.Quota.Release(j.ID)
	}
}

// wants is what a job may hold at most, as far as it is known. CPUs and memory are what it asks for: a site may give it more.
func (c *shared) wants(j *federation.Job, o *federation.Offer) quota.Want {
	w := quota.Want{User: j.User, Account: j.Spec.Account, QOS: j.Spec.QOS, TRES: accounting.TRES{}}
	limit := j.Needs().TimeLimit
	add := func(d *demand.Demand, o *federation.Offer) {
		nodes, gpus, kind := max(d.MinNodes, 1), 0, ""
		if o != nil {
			nodes, gpus, kind = max(o.Nodes, o.MaxNodes, nodes), o.GPUs, o.GPUType
		} else {
			gpus = d.Count("gpu", demand.PerJob) + d.Count("gpu", demand.PerNode)*nodes + d.Count("gpu", demand.PerTask)*max(d.Tasks, 1)
		}
		tasks := max(d.Tasks, d.TasksPerNode*nodes, nodes)
		w.TRES["node"] += int64(nodes)
		if mem := d.Size(nodes).Mem; mem > 0 {
			w.TRES["mem"] += int64(mem)
		}
		w.TRES["cpu"] += int64(max(tasks*max(d.CPUsPerTask, 1), nodes*d.MinCPUs, gpus*d.CPUsPerGPU))
		if gpus > 0 {
			w.TRES["gres/gpu"] += int64(gpus)
			if kind != "" {
				w.TRES["gres/gpu:"+kind] += int64(gpus)
			}
		}
	}
	needs := j.Needs()
	switch {
	case o != nil && len(o.Parts) > 0:
		for i := range o.Parts {
			d := needs
			if i > 0 && i <= len(needs.Components) {
				d = needs.Components[i-1]
			}
			add(d, &o.Parts[i])
		}
	default:
		add(needs, o)
		for _, d := range needs.Components {
			add(d, nil)
		}
	}
	if o != nil && limit == 0 { // the partition's; the time that it is expected to run is a part of it
		limit = time.Duration(float64(o.Run) / cmp.Or(c.cfg.Policy.RunFraction, 1))
	}
	switch {
	case limit == sbatch.Unlimited:
		w.Longest = 0
	case limit > 0:
		w.Longest = limit + killTime
	case o == nil:
		w.Longest = killTime // nothing is known yet
	}
	if o != nil {
		w.Cost = c.mostCost(o, &w)
	}
	return w
}

// mostCost is what a job may cost at most. Without a time limit, an hour at least is reckoned with.
func (c *shared) mostCost(o *federation.Offer, w *quota.Want) (sum federation.Money) {
	longest := w.Longest
	if longest == 0 {
		longest = max(o.Run, federation.OpenEnd)
	}
	s := c.byName[o.Site]
	perHour := o.PerHour
	for i := range o.Parts {
		perHour += o.Parts[i].PerHour
	}
	if perHour == 0 && s != nil {
		perHour = accounting.MoneyOf(accounting.PerHour(s.Prices, w.TRES))
	}
	return perHour.For(longest)
}
