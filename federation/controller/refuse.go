package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/depend"
	"fsub/sbatch"
)

// What is refused when it is submitted, though sites could run it.

// checkDependency reports as *federation.SlurmError what is wrong with a job's dependency.
func (jd *judging) checkDependency(j *federation.Job) error {
	refuse := func(detail string) error {
		return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2038, Text: "Job dependency problem", Detail: detail}
	}
	parsed, err := depend.Parse(j.Spec.Dependency)
	if err != nil {
		return refuse(err.Error())
	}
	var ids []federation.JobID
	for _, t := range parsed.Terms {
		if t.Kind != depend.Singleton {
			ids = append(ids, t.Job)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	listed, err := jd.store.ListJobs(context.Background(), federation.JobQuery{IDs: ids, Alone: true})
	if err != nil {
		return err
	}
	known := map[federation.JobID]bool{}
	for _, l := range listed {
		known[l.ID] = true
	}
	for _, id := range ids {
		if !known[id] {
			return refuse(fmt.Sprintf("job %d is not known; look with squeue or sacct", id))
		}
	}
	return nil
}

// misuses refuses a job that names an account of the tree which its user is not in, or a QOS which neither the tree nor a site that keeps accounts of its own gives him.
func (jd *judging) misuses(j *federation.Job) error {
	if jd.limits.Load().book == nil {
		return nil
	}
	sites := jd.shown.Load().sites
	for i := range 1 + len(j.Spec.Het) {
		sp := j.Spec
		if i > 0 {
			sp = &j.Spec.Het[i-1]
		}
		kind, is := jd.limits.Load().book.Misused(j.User, sp.Account, sp.QOS)
		switch {
		case !is || kind == accounts.QOS && slices.ContainsFunc(sites, func(s *federation.Site) bool { return allows(s, j.User, sp) }):
		case kind == accounts.Account:
			return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2045, Text: "Invalid account or account/partition combination specified",
				Detail: fmt.Sprintf("user %s has no account %s", j.User, sp.Account)}
		default:
			return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2066, Text: "Invalid qos specification",
				Detail: fmt.Sprintf("user %s may not use QOS %s", j.User, sp.QOS)}
		}
	}
	return nil
}

// allows reports whether a site that keeps accounts gives a user the QOS that a job names.
func allows(s *federation.Site, user string, sp *sbatch.Spec) bool {
	if s.Seen == nil {
		return false
	}
	return slices.ContainsFunc(s.Seen.Associations[s.UserName(user)], func(a federation.Association) bool {
		return (sp.Account == "" || strings.EqualFold(a.Account, sp.Account)) && slices.Contains(a.QOS, sp.QOS)
	})
}

// denied refuses what a QOS of the account tree with DenyOnLimit allows no job.
func (jd *judging) denied(j *federation.Job) error {
	if jd.limits.Load().book == nil {
		return nil
	}
	w := jd.limits.Load().wants(j, nil)
	no := jd.limits.Load().book.Denies(&w)
	if no == nil {
		return nil
	}
	return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2050, Text: "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
		Said: string(no.Reason), Detail: no.Text}
}
