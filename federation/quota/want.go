package quota

import (
	"cmp"
	"time"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// WantOf is what a job may hold at most, as far as it is known: o is the offer that it is to be bound for, at a site with such prices; nil: there is none yet. Share is
// [place.Policy.RunFraction]. CPUs and memory are what the job asks for: a site may give it more.
func WantOf(j *federation.Job, o *federation.Offer, prices map[string]float64, share float64) Want {
	w := Want{User: j.User, Account: j.Spec.Account, QOS: j.Spec.QOS, TRES: accounting.TRES{}}
	limit := j.Needs().TimeLimit
	add := func(d *demand.Demand, o *federation.Offer) {
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
		w.Cost = mostCost(o, prices, &w)
	}
	return w
}

// mostCost is what a job may cost at most. Without a time limit, an hour at least is reckoned with.
func mostCost(o *federation.Offer, prices map[string]float64, w *Want) federation.Money {
	longest := w.Longest
	if longest == 0 {
		longest = max(o.Run, federation.OpenEnd)
	}
	perHour := o.PerHour
	for i := range o.Parts {
		perHour += o.Parts[i].PerHour
	}
	if perHour == 0 {
		perHour = accounting.MoneyOf(accounting.PerHour(prices, w.TRES))
	}
	return perHour.For(longest)
}
