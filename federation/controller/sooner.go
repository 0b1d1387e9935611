package controller

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/decision"
	"fsub/federation/place"
	"fsub/sbatch"
)

// relaxation is a job that asks for less.
type relaxation struct {
	change string // in words
	edit   func(*sbatch.Spec)
}

// sooner tries what would have a waiting job start sooner than now: asking for less in one respect, or a dearer site. It is the plan for the job alone, as in Explain:
// jobs that stand before it in the queue are not counted.
func (jd *judging) sooner(sites *viewOfSites, j *federation.Job, now decision.Decision) (out []decision.Sooner) {
	if j.Held != federation.NotHeld || jd.now().Before(j.Spec.Begin) || len(now.Offers) > 0 && now.Offers[0].Wait == 0 {
		return nil
	}
	out = place.SoonerOffers(&now)
	for _, r := range relaxations(j.Spec, now.Expected) {
		less := *j
		spec := *j.Spec
		r.edit(&spec)
		less.SetSpec(spec)
		d, err := jd.planFor(sites, &less)
		if err != nil || len(d.Offers) == 0 {
			continue
		}
		if o := d.Offers[0]; len(now.Offers) == 0 || now.Offers[0].Wait-o.Wait >= max(time.Minute, now.Offers[0].Wait/10) {
			out = append(out, place.SoonerBy(r.change, o))
		}
	}
	return out
}

// relaxations are the options of a job that keep it from nodes, one by one.
func relaxations(s *sbatch.Spec, e *decision.Expected) (all []relaxation) {
	without := func(asked bool, option string, edit func(*sbatch.Spec)) {
		if asked {
			all = append(all, relaxation{"without " + option, edit})
		}
	}
	if len(s.Het) > 0 {
		return ofComponents(s)
	}
	if tight := tighter(s.TimeLimit, e); tight > 0 {
		change := fmt.Sprintf("with --time=%s (nine of ten such jobs end within %s)", clock(tight), max(e.P90.Round(time.Minute), time.Minute))
		all = append(all, relaxation{change, func(s *sbatch.Spec) { s.TimeLimit = tight }})
	}
	without(s.Clusters != "" && s.Clusters != "all", "-M "+s.Clusters, func(s *sbatch.Spec) { s.Clusters = "" })
	if f := s.Fed; f != nil {
		edit := func(f func(*sbatch.Fed)) func(*sbatch.Spec) {
			return func(s *sbatch.Spec) { fed := *s.Fed; f(&fed); s.Fed = &fed }
		}
		without(len(f.Sites) > 0, "--fed-sites", edit(func(f *sbatch.Fed) { f.Sites = nil }))
		without(len(f.NotSites) > 0, "--fed-exclude-sites", edit(func(f *sbatch.Fed) { f.NotSites = nil }))
		without(f.MaxCost > 0, "--fed-max-cost", edit(func(f *sbatch.Fed) { f.MaxCost = 0 }))
	}
	without(s.Partition != "", "--partition="+s.Partition, func(s *sbatch.Spec) { s.Partition = "" })
	without(s.MaxNodes > 0 && s.GPUs != "", "--nodes", func(s *sbatch.Spec) { s.MinNodes, s.MaxNodes = 0, 0 }) // its GPUs may be on more nodes
	without(s.Switches > 0, "--switches", func(s *sbatch.Spec) { s.Switches = 0 })
	without(s.Constraint != "", "--constraint="+s.Constraint, func(s *sbatch.Spec) { s.Constraint = "" })
	without(s.NodeList != "", "--nodelist", func(s *sbatch.Spec) { s.NodeList = "" })
	without(s.Exclude != "", "--exclude", func(s *sbatch.Spec) { s.Exclude = "" })
	without(s.Exclusive != "" && s.Exclusive != "oversubscribe", "--exclusive", func(s *sbatch.Spec) { s.Exclusive = "" })
	typed := s.Fed == nil || len(s.Fed.Accelerators) == 0 // which may name the type
	without(typed && (anyGPU(s.GPUs) != s.GPUs || anyGPU(s.GPUsPerNode) != s.GPUsPerNode || anyGPU(s.GPUsPerTask) != s.GPUsPerTask), "a type of GPU", func(s *sbatch.Spec) {
		s.GPUs, s.GPUsPerNode, s.GPUsPerTask = anyGPU(s.GPUs), anyGPU(s.GPUsPerNode), anyGPU(s.GPUsPerTask)
	})
	return all
}

// ofComponents are the relaxations of each component of a heterogeneous job. What it asks of the federation is the whole job's.
func ofComponents(s *sbatch.Spec) (all []relaxation) {
	for i := range len(s.Het) + 1 {
		one := *s
		if i > 0 {
			one = s.Het[i-1]
		}
		one.Het, one.Fed, one.Clusters = nil, nil, ""
		for _, r := range relaxations(&one, nil) {
			all = append(all, relaxation{fmt.Sprintf("%s of component %d", r.change, i), func(s *sbatch.Spec) {
				if i == 0 {
					r.edit(s)
					return
				}
				s.Het = slices.Clone(s.Het)
				r.edit(&s.Het[i-1])
			}})
		}
	}
	return all
}

// anyGPU is "4" for "h100:4". Lists of several types stay.
func anyGPU(s string) string {
	if kind, n, ok := strings.Cut(s, ":"); ok && kind != "" && !strings.Contains(n, ":") && !strings.Contains(s, ",") {
		return n
	}
	return s
}

// tighter is a time limit that most jobs like this one keep, where theirs is at least twice that; 0: none.
func tighter(limit time.Duration, e *decision.Expected) time.Duration {
	if e == nil || e.Runs < 10 {
		return 0
	}
	tight := (e.P90 + e.P90/4).Truncate(time.Minute) + time.Minute
	if limit != sbatch.Unlimited && (limit == 0 || limit < 2*tight) {
		return 0
	}
	return tight
}

// clock is a time limit as sbatch takes it: H:MM:00.
func clock(d time.Duration) string {
	return fmt.Sprintf("%d:%02d:00", int(d.Hours()), int(d.Minutes())%60)
}
