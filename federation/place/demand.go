package place

import (
	"slices"
	"strconv"
	"strings"

	"fsub/accounting"
	"fsub/federation"
	"fsub/sbatch"
)

// demandRefusal is why a site is none of those that the job asks for, whatever nodes it has; nil if it is.
func demandRefusal(site *federation.Site, job *federation.Job) *refusal {
	name, d := string(site.Name), job.Needs()
	for _, asked := range [...][]string{d.Clusters, d.Sites} {
		if len(asked) > 0 && !slices.Contains(asked, name) {
			return forGood(federation.ReasonNotAsked, federation.WhySitesAsked, strings.Join(asked, ","))
		}
	}
	if slices.Contains(d.NotSites, name) {
		return forGood(federation.ReasonNotAsked, federation.WhySiteNotWanted)
	}
	for _, option := range d.Plugins {
		if site.Option(option) == nil {
			return forGood(federation.ReasonUnsupported, federation.WhyNoPluginOption, option)
		}
	}
	if !site.Reaches(job.Spec) {
		return forGood(federation.ReasonFileSystem, federation.WhyNoDirectory, job.Spec.WorkDir)
	}
	return nil
}

// lacked is the first of the options that a site's interface has no word for and that the job needs, "" if there is none.
func lacked(obs *federation.Observation, spec *sbatch.Spec) string {
	for _, option := range obs.Lacks {
		if spec.Uses(option) || option == "hetjob" && len(spec.Het) > 0 {
			return option
		}
	}
	return ""
}

// classApart numbers what placement looks at beside a job's demand and its rights: what it has cost already, which sites do not see its
// directory, and whose the components of a heterogeneous job are. Nothing is 0.
func (w *World) classApart(job *federation.Job) int {
	s, bounded := job.Spec, job.Needs().MaxCost > 0
	if !bounded && len(s.Het) == 0 && !w.apart {
		return 0
	}
	b := make([]byte, 0, 128)
	if bounded {
		b = strconv.AppendInt(b, int64(job.Cost), 10)
		b = strconv.AppendInt(append(b, ' '), int64(taskCount(job)), 10)
	}
	for i, st := range w.sites {
		if w.apart && !st.site.Reaches(s) {
			// The refusal names the directory.
			b = append(strconv.AppendInt(append(b, '!'), int64(i), 10), s.WorkDir...)
		}
	}
	if len(s.Het) > 0 {
		b = append(append(b, ' '), job.User...) // the components' accounts are not in the job's class
	}
	if len(b) == 0 {
		return 0
	}
	class, ok := w.beside[string(b)]
	if !ok {
		class = len(w.beside) + 1
		w.beside[string(b)] = class
	}
	return class
}

// costRefusal says no to what costs more than the job may cost in all: the array that it is a part of, and what its earlier attempts
// have cost. What counts is what it is expected to be billed, not what waiting is worth.
func costRefusal(job *federation.Job, amount federation.Dollars) *refusal {
	bound := job.Needs().MaxCost
	if bound <= 0 {
		return nil
	}
	whole, most := accounting.MoneyOf(float64(amount)*float64(taskCount(job))), accounting.MoneyOf(bound)
	switch {
	case whole+job.Cost <= most:
		return nil
	case job.Cost > 0:
		return forGood(federation.ReasonMaxCost, federation.WhyCostAgain,
			moneyText(whole.Dollars()), moneyText(job.Cost.Dollars()), moneyText(most.Dollars()))
	}
	return forGood(federation.ReasonMaxCost, federation.WhyCost, moneyText(whole.Dollars()), moneyText(most.Dollars()))
}

// taskCount is how many jobs like this one the user's array has, 1 if it is no part of one.
func taskCount(job *federation.Job) int {
	if job.Part == nil {
		return 1
	}
	return max(job.Part.Count, 1)
}
