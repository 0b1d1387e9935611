package restd

import (
	"slices"

	"fsub/federation"
	"fsub/slurm/wire"
)

// LicensesOf adds up the licenses of a name, for a job may run wherever one is free.
func LicensesOf(sites []*federation.Site) wire.List[wire.License] {
	out := wire.List[wire.License]{}
	for _, site := range sites {
		if site.Seen == nil {
			continue
		}
		for _, l := range site.Seen.Licenses {
			i := slices.IndexFunc(out, func(o wire.License) bool { return o.Name == l.Name })
			if i < 0 {
				i = len(out)
				out = append(out, wire.License{Name: l.Name})
			}
			o := &out[i]
			o.Total, o.Used, o.Reserved = o.Total+int64(l.Total), o.Used+int64(l.Used), o.Reserved+int64(l.Reserved)
			o.Free = o.Total - o.Used
		}
	}
	return out
}
