package submission

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"fsub/accounting/egress"
	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/demand"
	"fsub/sbatch"
)

// checkDemand checks what a job asks of the federation itself against the sites that there are. Names in --clusters that nobody
// knows are warnings as long as one is known, as in sbatch 24.11; they are taken out.
func (s *Gate) checkDemand(spec *sbatch.Spec) (named Clusters, err error) {
	sites := s.Controller.Sites()
	if named, err = s.setClusters(spec, sites); err != nil {
		return named, err
	}
	for sp := range components(spec) {
		if f := sp.Fed; f != nil {
			if err := cmp.Or(checkFed(f, sites), checkPack(sp), checkLoss(sp)); err != nil {
				return named, err
			}
		}
		for _, o := range sp.Plugin {
			if !slices.ContainsFunc(sites, func(site *federation.Site) bool { return site.Option(o.Name) != nil }) {
				return named, refuseAlone(fmt.Sprintf("unrecognized option '--%s'", o.Name))
			}
		}
	}
	named.Warnings = append(named.Warnings, onlyRented(spec, sites)...)
	return named, nil
}

// Clusters is what a job's --clusters comes to.
type Clusters struct {
	Answer   string   // the name that the answer to a submission gives, once the job is pinned; "" if there was no --clusters
	Warnings []string // of names that nobody knows
	Again    bool     // the job had been submitted before, under the same key
}

// setClusters leaves in --clusters the names of sites, as they are written here. The federation's own name stands for the whole
// of it: such a job is no more bound than one without --clusters.
func (s *Gate) setClusters(spec *sbatch.Spec, sites []*federation.Site) (named Clusters, err error) {
	if spec.Clusters == "" || spec.Clusters == "all" {
		return named, nil
	}
	var known []string
	for name := range strings.SplitSeq(spec.Clusters, ",") {
		if strings.EqualFold(name, s.Federation) {
			spec.Clusters = ""
			return Clusters{Answer: s.Federation}, nil
		}
		i := slices.IndexFunc(sites, func(site *federation.Site) bool { return strings.EqualFold(name, string(site.Name)) })
		switch {
		case i >= 0 && !slices.Contains(known, string(sites[i].Name)):
			known = append(known, string(sites[i].Name))
		case i < 0 && name != "":
			named.Warnings = append(named.Warnings, fmt.Sprintf("No cluster '%s' known by database.", name))
		}
	}
	if len(known) == 0 {
		return named, &federation.SlurmError{Kind: federation.ErrInvalid, Alone: true, Said: strings.Join(named.Warnings, "\n"),
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

// maxInputs bounds the inputs of a job, and the places of each.
const maxInputs = 100

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
	if f.DeadlineValue < 0 || math.IsNaN(f.DeadlineValue) || math.IsInf(f.DeadlineValue, 0) {
		return refuseAlone("what a result is worth is a number of dollars and not negative")
	}
	if len(f.Inputs) > maxInputs {
		return refuseAlone(fmt.Sprintf("%d inputs, at most %d are allowed", len(f.Inputs), maxInputs))
	}
	for _, in := range f.Inputs {
		if in.Bytes <= 0 || len(in.At) == 0 || len(in.At) > maxInputs {
			return refuseAlone(fmt.Sprintf("input %.60q: want a size above 0, and 1 to %d places", in, maxInputs))
		}
		for _, at := range in.At {
			if !slices.Contains(names, at) && !egress.Place(at) {
				return refuseAlone(fmt.Sprintf("input: no place %.40q: want a site (%s) or a region of a cloud, such as aws:us-east-1", at, strings.Join(names, ", ")))
			}
		}
	}
	if f.Checkpoint < 0 {
		return refuseAlone("the time between two checkpoints is not negative")
	}
	if why := f.InvalidKeep(); why != "" {
		return refuseAlone("keep: " + why)
	}
	if why := f.InvalidNodeLoss(); why != "" {
		return refuseAlone("on-node-loss: " + why)
	}
	if f.Heartbeat != "" {
		if why := sbatch.InvalidHeartbeat(f.Heartbeat); why != "" {
			return refuseAlone("heartbeat: " + why)
		}
	}
	if why := f.Retry.Why(); why != "" {
		return refuseAlone("retry: " + why)
	}
	if f.Traffic != "" && !slices.Contains(sbatch.Traffics[:], f.Traffic) {
		return refuseAlone(fmt.Sprintf("traffic %.40q is not one of %s", f.Traffic, strings.Join(sbatch.Traffics[:], ", ")))
	}
	return nil
}

// checkLoss refuses a job that cannot do what it asks for when a node of it is lost.
func checkLoss(spec *sbatch.Spec) error {
	if why := spec.InvalidLossOf(); why != "" {
		return refuseAlone("--on-node-loss: " + why)
	}
	return nil
}

// onlyRented says of what a job asks for that sites of Slurm where it may run do not do it. "": they do, or it cannot run there.
func onlyRented(spec *sbatch.Spec, sites []*federation.Site) (said []string) {
	do, _ := spec.NodeLoss()
	if do != sbatch.LossWait && spec.Heartbeat() == "" {
		return nil
	}
	const named = 3
	var at []string
	for _, site := range sites {
		name := string(site.Name)
		switch f := spec.Fed; {
		case site.Seen == nil || site.Seen.Version == federation.OwnVersion, slices.Contains(f.NotSites, name), len(f.Sites) > 0 && !slices.Contains(f.Sites, name):
		case spec.Clusters != "" && spec.Clusters != "all" && !slices.Contains(strings.Split(spec.Clusters, ","), name):
		case len(at) == named:
			at = append(at, "...")
		case len(at) < named:
			at = append(at, name)
		}
	}
	if at == nil {
		return nil
	}
	there := strings.Join(at, ", ")
	if do == sbatch.LossWait {
		said = append(said, fmt.Sprintf("--on-node-loss=wait is for rented machines: a job that loses a node at %s is queued again, as Slurm does it.", there))
	}
	if spec.Heartbeat() != "" {
		said = append(said, fmt.Sprintf("--heartbeat is for rented machines and local pools: nothing reads the file at %s.", there))
	}
	return said
}

// checkPack refuses a job whose tasks cannot share jobs.
func checkPack(spec *sbatch.Spec) error {
	if why := spec.Packs().Why(spec); why != "" {
		return refuseAlone("--pack: " + why)
	}
	return nil
}

// pin chooses the one site of --clusters that the answer to a submission names: where the job can start first, as sbatch does,
// and of several the cheapest. The job stays bound to it.
func (s *Gate) pin(job *federation.Job) {
	if job.Spec.Clusters == "" || job.Spec.Clusters != "all" && !strings.Contains(job.Spec.Clusters, ",") {
		return
	}
	at := func(site federation.SiteName) { job.EditSpec(func(spec *sbatch.Spec) { spec.Clusters = string(site) }) }
	defer func() { job.Demand = demand.Of(job.Spec) }()
	d := s.Controller.Decision(job)
	if len(d.Offers) > 0 {
		first := slices.MinFunc(d.Offers, func(a, b *decision.Offer) int { return a.Start.Compare(b.Start) })
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
