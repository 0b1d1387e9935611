package slurm

import (
	"fsub/federation"
	"fsub/sbatch/gres"
)

// nodeGRES joins what a node has ("gpu:h100:4(S:0-1),nvme:2") with what is used of it ("gpu:h100:1(IDX:0),nvme:0").
func nodeGRES(total, used string) []federation.GRES {
	var out []federation.GRES
	for _, g := range parseGRES(total) {
		i := indexGRES(out, g)
		if i < 0 {
			out = append(out, federation.GRES{Name: g.Name, Type: g.Type})
			i = len(out) - 1
		}
		out[i].Total += g.Total
	}
	for _, g := range parseGRES(used) {
		if i := indexGRES(out, g); i >= 0 {
			out[i].Used += g.Total
		}
	}
	return out
}

func indexGRES(list []federation.GRES, g federation.GRES) int {
	for i, x := range list {
		if x.Name == g.Name && x.Type == g.Type {
			return i
		}
	}
	return -1
}

// parseGRES reads a GRES list of a site; the counts come as Total.
func parseGRES(list string) []federation.GRES {
	var out []federation.GRES
	for _, r := range gres.Listed(list) {
		out = append(out, federation.GRES{Name: r.Name, Type: r.Type, Total: r.Count})
	}
	return out
}
