package quota

import (
	"cmp"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// WantOf is what a job may hold at most, as far as it is known: o is the offer that it is to be bound for, at a site with such prices; nil: there is none yet. Share is
// [place.Policy.RunFraction]. CPUs and memory are what the job asks for: a site may give it more.
func WantOf(j *federation.Job, o *decision.Offer, prices map[string]float64, share float64) Want {
	w := Want{User: j.User, Account: j.Spec.Account, QOS: j.Spec.QOS, TRES: accounting.TRES{}}
	limit := j.Needs().TimeLimit
	add := func(d *demand.Demand, o *decision.Offer) {
		nodes := 0 // as few as it may have
		if o != nil {
			nodes = max(o.Nodes, o.MaxNodes, d.MinNodes, 1)
		}
		z, gpus, kind := d.Size(nodes), 0, ""
		for _, g := range z.GRES {
			if g.Name == "gpu" {
				gpus, kind = gpus+g.Count, g.Type
			}
		}
		if o != nil {
			gpus, kind = o.GPUs, o.GPUType
		}
		w.TRES["node"] += int64(z.Nodes)
		if z.Mem > 0 {
			w.TRES["mem"] += int64(z.Mem)
		}
		w.TRES["cpu"] += int64(max(z.CPUs, gpus*d.CPUsPerGPU))
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
		limit = time.Duration(float64(o.Run) / cmp.Or(share, 1))
	}
	switch {
	case limit == sbatch.Unlimited:
		w.Longest = 0
	case limit > 0:
		w.Longest = limit + federation.KillTime
	case o == nil:
		w.Longest = federation.KillTime // nothing is known yet
	}
	if o != nil {
		w.Expected = o.Run
		w.Cost = w.perHour(o, prices).For(w.lasts())
	}
	return w
}

// lasts is for how long a job costs at most: to its time limit. Without one it is as long as it is expected to run, an hour at least.
func (w *Want) lasts() time.Duration {
	if w.Longest > 0 {
		return w.Longest
	}
	return max(w.Expected, federation.OpenEnd)
}

// costAfter is what a job has cost after some time, if it costs Cost at most.
func (w *Want) costAfter(d time.Duration) federation.Money {
	return federation.Money(float64(w.Cost) * (d.Seconds() / w.lasts().Seconds()))
}

// perHour is the price of a job at an offer.
func (w *Want) perHour(o *decision.Offer, prices map[string]float64) federation.Money {
	perHour := o.PerHour
	for i := range o.Parts {
		perHour += o.Parts[i].PerHour
	}
	if perHour == 0 {
		perHour = accounting.MoneyOf(accounting.PerHour(prices, w.TRES))
	}
	return perHour
}
