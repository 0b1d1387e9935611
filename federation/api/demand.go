package api

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// checkDemand checks what a job asks of the federation itself against the sites that there are. Names in --clusters that nobody
// knows are warnings as long as one is known, as in sbatch 24.11; they are taken out.
func (s *gate) checkDemand(spec *sbatch.Spec) (named clusters, err error) {
	sites := s.controller.Sites()
	if named, err = s.setClusters(spec, sites); err != nil {
		return named, err
	}
	for sp := range components(spec) {
		if f := sp.Fed; f != nil {
			if err := checkFed(f, sites); err != nil {
				return named, err
			}
		}
		for _, o := range sp.Plugin {
			if !slices.ContainsFunc(sites, func(site *federation.Site) bool { return site.Option(o.Name) != nil }) {
				return named, refuseAlone(fmt.Sprintf("unrecognized option '--%s'", o.Name))
			}
		}
	}
	return named, nil
}

// clusters is what a job's --clusters comes to.
type clusters struct {
	answer   string   // the name that the answer to a submission gives, once the job is pinned; "" if there was no --clusters
	warnings []string // of names that nobody knows
}

// setClusters leaves in --clusters the names of sites, as they are written here. The federation's own name stands for the whole
// of it: such a job is no more bound than one without --clusters.
func (s *gate) setClusters(spec *sbatch.Spec, sites []*federation.Site) (named clusters, err error) {
	if spec.Clusters == "" || spec.Clusters == "all" {
		return named, nil
	}
	var known []string
	for name := range strings.SplitSeq(spec.Clusters, ",") {
		if strings.EqualFold(name, s.federation) {
			spec.Clusters = ""
			return clusters{answer: s.federation}, nil
		}
		i := slices.IndexFunc(sites, func(site *federation.Site) bool { return strings.EqualFold(name, string(site.Name)) })
		switch {
		case i >= 0 && !slices.Contains(known, string(sites[i].Name)):
			known = append(known, string(sites[i].Name))
		case i < 0 && name != "":
			named.warnings = append(named.warnings, fmt.Sprintf("No cluster '%s' known by database.", name))
		}
	}
	if len(known) == 0 {
		return named, &federation.SlurmError{Kind: federation.ErrInvalid, Alone: true, Said: strings.Join(named.warnings, "\n"),
			Text: fmt.Sprintf("'%s' can't be reached now, or it is an invalid entry for --cluster.  Use 'sacctmgr list clusters' to see available clusters.",
				spec.Clusters)}
	}
	spec.Clusters = strings.Join(known, ",")
	return named, nil
}

// refuseAlone is a refusal that Slurm has no sentence for.
func refuseAlone(text string) error {
	return &federation.SlurmError{Kind: federation.ErrInvalid, Alone: true, Text: text}
}

// maxAccelerators bounds the kinds of accelerator that a job may take: each is placed by itself.
const maxAccelerators = 100

func checkFed(f *sbatch.Fed, sites []*federation.Site) error {
	var names []string
	for _, site := range sites {
		names = append(names, string(site.Name))
	}
	for _, name := range slices.Concat(f.Sites, f.NotSites) {
		if !slices.Contains(names, name) {
			return refuseAlone(fmt.Sprintf("no site %.40q: the federation has %s", name, cmp.Or(strings.Join(names, ", "), "none")))
		}
	}
	if len(f.Accelerators) > maxAccelerators {
		return refuseAlone(fmt.Sprintf("%d kinds of accelerator, at most %d are allowed", len(f.Accelerators), maxAccelerators))
	}
	for _, a := range f.Accelerators {
		if !demand.Accelerator(a) {
			return refuseAlone(fmt.Sprintf("accelerator %.40q is not TYPE or TYPE:FACTOR", a))
		}
	}
	if f.MaxCost < 0 || math.IsNaN(f.MaxCost) || math.IsInf(f.MaxCost, 0) {
		return refuseAlone("the most that a job may cost is a number of dollars and not negative")
	}
	return nil
}

// pin chooses the one site of --clusters that the answer to a submission names: where the job can start first, as sbatch does,
// and of several the cheapest. The job stays bound to it.
func (s *gate) pin(job *federation.Job) {
	if job.Spec.Clusters == "" || job.Spec.Clusters != "all" && !strings.Contains(job.Spec.Clusters, ",") {
		return
	}
	at := func(site federation.SiteName) { job.EditSpec(func(spec *sbatch.Spec) { spec.Clusters = string(site) }) }
	defer func() { job.Demand = demand.Of(job.Spec) }()
	d := s.controller.Explain(job)
	if len(d.Offers) > 0 {
		first := slices.MinFunc(d.Offers, func(a, b *federation.Offer) int { return a.Start.Compare(b.Start) })
		at(first.Site)
		return
	}
	for _, r := range d.Rejections { // nowhere now: a site that may run it later
		if !r.Never {
			at(r.Site)
			return
		}
	}
}

// getOptions is GET /fed/v1/options: what the plugins of all sites add to sbatch's options, by name.
func (s *Server) getOptions(w http.ResponseWriter, r *http.Request, _ identity.Caller) error {
	out := []v1.PluginOption{}
	for _, site := range s.cfg.Controller.Sites() {
		for _, o := range site.Options {
			i, found := slices.BinarySearchFunc(out, o.Name, func(p v1.PluginOption, name string) int { return cmp.Compare(p.Name, name) })
			if !found {
				out = slices.Insert(out, i, v1.PluginOption{Name: o.Name, Short: o.Short, Value: o.Value})
			}
			if out[i].Value != o.Value {
				out[i].Value = federation.MayTakeValue
			}
			out[i].Short = cmp.Or(out[i].Short, o.Short)
			out[i].Sites = append(out[i].Sites, site.Name)
		}
	}
	return writeJSON(w, out)
}
