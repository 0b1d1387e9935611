package place

import (
	"slices"
	"strconv"
	"strings"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/decision"
	"fsub/federation/reasons"
	"fsub/sbatch"
)

// demandRefusal is why the job does not want a site, whatever its nodes; nil if it does.
func demandRefusal(site *federation.Site, job *federation.Job) *refusal {
	name, d := string(site.Name), job.Needs()
	for _, asked := range [...][]string{d.Clusters, d.Sites} {
		if len(asked) > 0 && !slices.Contains(asked, name) {
			return forGood(reasons.NotAsked, codes.SitesAsked, strings.Join(asked, ","))
		}
	}
	if slices.Contains(d.NotSites, name) {
		return forGood(reasons.NotAsked, codes.SiteNotWanted)
	}
	for _, option := range d.Plugins {
		if site.Option(option) == nil {
			return forGood(reasons.Unsupported, codes.NoPluginOption, option)
		}
	}
	if !site.Reaches(job.Spec) {
		return forGood(reasons.FileSystem, codes.NoDirectory, job.Spec.WorkDir)
	}
	return nil
}

// lacked is the first option that the job needs and the site's interface cannot express, "" if there is none.
func lacked(obs *federation.Observation, spec *sbatch.Spec) string {
	for _, option := range obs.Lacks {
		if spec.Uses(option) || option == "hetjob" && len(spec.Het) > 0 {
			return option
		}
	}
	return ""
}

// classApart numbers what placement considers beside a job's demand and its rights: what it has cost so far, its deadline, which sites cannot see its
// directory, and the owner of a heterogeneous job. 0: nothing.
func (l *likeness) classApart(job *federation.Job) int {
	s, bounded := job.Spec, job.Needs().MaxCost > 0
	if !bounded && len(s.Het) == 0 && !l.in.apart && s.Deadline.IsZero() {
		return 0
	}
	b := make([]byte, 0, 128)
	if !s.Deadline.IsZero() {
		b = strconv.AppendInt(append(b, 'd'), s.Deadline.Unix(), 10)
	}
	if bounded {
		b = strconv.AppendInt(b, int64(job.Cost), 10)
		b = strconv.AppendInt(append(b, ' '), int64(taskCount(job)), 10)
	}
	for i, st := range l.in.sites {
		if l.in.apart && !st.site.Reaches(s) {
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
	class, ok := l.beside[string(b)]
	if !ok {
		class = len(l.beside) + 1
		l.beside[string(b)] = class
	}
	return class
}

// costRefusal refuses what would cost more than the job may in all, counting its array and its earlier attempts. The expected bill
// counts, not the value of waiting.
func costRefusal(job *federation.Job, amount decision.Dollars) *refusal {
	bound := job.Needs().MaxCost
	if bound <= 0 {
		return nil
	}
	whole, most := accounting.MoneyOf(float64(amount)*float64(taskCount(job))), accounting.MoneyOf(bound)
	switch {
	case whole+job.Cost <= most:
		return nil
	case job.Cost > 0:
		return forGood(reasons.MaxCost, codes.CostAgain,
			rateText(whole.Dollars()), rateText(job.Cost.Dollars()), rateText(most.Dollars()))
	}
	return forGood(reasons.MaxCost, codes.Cost, rateText(whole.Dollars()), rateText(most.Dollars()))
}

// taskCount is how many tasks the job's array has, 1 outside an array.
func taskCount(job *federation.Job) int {
	if job.Part == nil {
		return 1
	}
	return max(job.Part.Count, 1)
}
