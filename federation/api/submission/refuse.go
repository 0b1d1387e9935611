package submission

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/federation/demand"
	"fsub/sbatch"
	"fsub/sbatch/gres"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// judge refuses a job that no site can ever run, in slurmctld's order: partitions, accounts and nodes, tasks of GPUs, deadline. ask is what the
// planner says of it.
func (s *Gate) judge(job *federation.Job, ask func() error) error {
	sites, now := s.Controller.Sites(), s.Now()
	components := append([]sbatch.Spec{*job.Spec}, job.Spec.Het...)
	for i := range components {
		if err := cmp.Or(checkPartitions(&components[i], sites), checkHosts(&components[i], sites)); err != nil {
			return err
		}
	}
	if err := refusedDemand(job.Demand); err != nil {
		return err
	}
	if err := ask(); err != nil {
		return err
	}
	for i := range components {
		needs := demand.Of(&components[i])
		if err := cmp.Or(checkPerTask(needs), checkGPUs(needs, sites), checkDeadline(&components[i], now)); err != nil {
			return err
		}
	}
	return nil
}

// checkPartitions refuses a list of partitions of which one is at no site, as slurmctld does however good the others are. A site that
// was never seen may have it. A single partition is placement's to judge.
func checkPartitions(sp *sbatch.Spec, sites []*federation.Site) error {
	if !strings.Contains(sp.Partition, ",") {
		return nil
	}
	known := map[string]bool{"": true}
	for _, site := range sites {
		if site.Seen == nil {
			return nil
		}
		for _, p := range site.Seen.Partitions {
			known[p.Name] = true
		}
	}
	names := strings.Split(sp.Partition, ",")
	if i := slices.IndexFunc(names, func(name string) bool { return !known[name] }); i >= 0 {
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: wire.ErrPartition, Text: wire.Strerror(wire.ErrPartition),
			Said: "invalid partition specified: " + names[i], Detail: "no site has a partition " + names[i]}
	}
	return nil
}

// fewHosts is how many nodes a job may name however few the sites have.
const fewHosts = 4096

// checkHosts refuses lists of nodes that cannot be read, and those that stand for more nodes than all sites have: placement writes them out. A
// list may name nodes of several sites, and a site that was never seen may have any.
func checkHosts(sp *sbatch.Spec, sites []*federation.Site) error {
	most := fewHosts
	for _, site := range sites {
		if site.Seen == nil {
			most += fewHosts
		} else {
			most += len(site.Seen.Nodes)
		}
	}
	for _, list := range [...]string{sp.NodeList, sp.Exclude} {
		n, err := hostlist.Count(list)
		if err == nil && n > most {
			err = fmt.Errorf("hostlist %.80q stands for %d names: the sites have fewer nodes", list, n)
		}
		if err != nil {
			return answer.Invalid(wire.ErrNodeName, err.Error())
		}
	}
	return nil
}

// refusedDemand is why no Slurm understands what a job asks for.
func refusedDemand(d *demand.Demand) error {
	err := d.Refused()
	if err == nil {
		return nil
	}
	e := &federation.SlurmError{Kind: federation.ErrInvalid, Text: err.Error(), Alone: true}
	switch err {
	case gres.ErrSyntax:
		e.Number = wire.ErrTRES
	case gres.ErrTypes:
		e.Number = wire.ErrGRESType
	case demand.ErrFeatures:
		e.Number, e.Alone = wire.ErrFeature, false
	}
	return e
}

// checkPerTask refuses GPUs for each task where nothing says how many tasks there are: no -n, -N or --gpus. 22.05 takes --ntasks-per-node
// for that; we follow 24.11.
func checkPerTask(d *demand.Demand) error {
	asked := slices.ContainsFunc(d.GRES, func(g demand.GRES) bool { return g.Per == demand.PerTask })
	if !asked || d.Tasks > 0 || d.MinNodes > 0 || d.Count("gpu", demand.PerJob) > 0 {
		return nil
	}
	return &federation.SlurmError{Kind: federation.ErrInvalid, Number: wire.ErrGRES, Text: wire.Strerror(wire.ErrGRES),
		Said: "Failed to validate job spec. --gpus-per-task or --tres-per-task used without either --gpus or -n/--ntasks is not allowed."}
}

// checkGPUs refuses GPUs that no Slurm takes where all sites are rented pools: these have no slurmctld that says so.
func checkGPUs(d *demand.Demand, sites []*federation.Site) error {
	if len(sites) == 0 || slices.ContainsFunc(sites, func(s *federation.Site) bool { return s.Seen == nil || !s.Seen.NoSlurm }) {
		return nil
	}
	said := d.RefusedGPUs()
	if said == "" {
		return nil
	}
	return &federation.SlurmError{Kind: federation.ErrInvalid, Number: wire.ErrGRES, Text: wire.Strerror(wire.ErrGRES), Said: said}
}

// checkDeadline refuses a job that cannot end before its deadline: with the least time that it would do with, from the moment that it
// may begin. Without a time limit of its own only a deadline that is over is refused, for the limit is then the partition's.
func checkDeadline(sp *sbatch.Spec, now time.Time) error {
	if sp.Deadline.IsZero() {
		return nil
	}
	start := now.Truncate(time.Second) // as the deadline is
	if sp.Begin.After(now) {
		start = sp.Begin
	}
	number, least := wire.ErrTimeLimit, sp.TimeLimit
	if sp.TimeMin > 0 {
		number, least = wire.ErrTimeMin, sp.TimeMin
	}
	switch {
	case sp.Deadline.Before(now.Truncate(time.Second)):
		return answer.Invalid(wire.ErrTimeLimit, "the deadline is over")
	case least > sp.Deadline.Sub(start):
		return answer.Invalid(number, "the job cannot end before its deadline")
	}
	return nil
}
