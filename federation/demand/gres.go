package demand

import (
	"slices"
	"strings"

	"fsub/sbatch"
	"fsub/sbatch/gres"
)

// readGRES takes in all options that ask for generic resources. What cannot be read is left out.
func (d *Demand) readGRES(s *sbatch.Spec) (refused error) {
	var m sbatch.More
	if s.More != nil {
		m = *s.More
	}
	for _, o := range [...]struct {
		list  string
		parse func(string) ([]gres.Resource, error)
		per   Basis
	}{
		{s.GPUsPerNode, gres.ParseGPUs, PerNode}, {s.GRES, gres.Parse, PerNode}, // in the order in which sbatch says both: the later one counts
		{s.GPUs, gres.ParseGPUs, PerJob}, {s.GPUsPerTask, gres.ParseGPUs, PerTask}, {perTask(m.TRESPerTask), gres.Parse, PerTask},
		{m.GPUsPerSocket, gres.ParseGPUs, PerSocket},
	} {
		if o.list == "" {
			continue
		}
		list, err := o.parse(o.list)
		if err != nil && refused == nil {
			refused = err
		}
		for _, r := range list {
			d.put(GRES{r, o.per})
		}
	}
	d.GRES = slices.DeleteFunc(d.GRES, func(g GRES) bool { return g.Count == 0 })
	if refused == nil && d.mixed() {
		refused = gres.ErrTypes
	}
	return refused
}

// perTask are the items of --tres-per-task that are generic resources.
func perTask(list string) string {
	if list == "" {
		return ""
	}
	var items []string
	for item := range strings.SplitSeq(list, ",") {
		if strings.HasPrefix(item, "gres/") {
			items = append(items, item)
		}
	}
	return strings.Join(items, ",")
}

// put adds g. Of two of one kind the later one counts, as slurmctld has it, but for what ReqTRES shows.
func (d *Demand) put(g GRES) {
	for i := range d.GRES {
		if have := &d.GRES[i]; have.Per == g.Per && have.Name == g.Name && have.Type == g.Type {
			have.Count = g.Count
			return
		}
	}
	d.GRES = append(d.GRES, g)
}

// mixed reports whether a resource is asked for with a type and without.
func (d *Demand) mixed() bool {
	for i, a := range d.GRES {
		for _, b := range d.GRES[:i] {
			if a.Name == b.Name && (a.Type == "") != (b.Type == "") {
				return true
			}
		}
	}
	return false
}

// Count is how many of the resources of a name are asked for on a basis, whatever their type.
func (d *Demand) Count(name string, per Basis) int {
	n := 0
	for _, g := range d.GRES {
		if g.Name == name && g.Per == per {
			n += g.Count
		}
	}
	return n
}

// AsksGPUs reports whether the job asks for GPUs.
func (d *Demand) AsksGPUs() bool {
	return slices.ContainsFunc(d.GRES, func(g GRES) bool { return g.Name == "gpu" })
}
