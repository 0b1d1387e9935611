package place

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"fsub/federation"
	"fsub/federation/codes"
	"fsub/federation/reasons"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// access is what a user may do at a site.
type access struct {
	account string // that the job would be charged to; "" if only the site knows
	root    bool   // is root or SlurmUser there
	refusal *refusal
}

// accessOf tells whether the job's user may run at the site at all, and under which account.
func accessOf(site *federation.Site, job *federation.Job) access {
	user := site.UserName(job.User)
	if only := site.Seen.OnlyUser; only != "" && only != user {
		return access{refusal: forGood(reasons.UnknownUser, codes.TokenOfOther, only)}
	}
	root := user == "root" || user != "" && user == site.Seen.SlurmUser
	account, ok := accountAt(site, user, job.User, job.Spec.Account)
	switch {
	case ok:
		return access{account: account, root: root}
	case site.Seen.Associations != nil && len(site.Seen.Associations[user]) == 0:
		return access{refusal: forGood(reasons.UnknownUser, codes.NoUser, user)}
	}
	return access{refusal: forGood(reasons.Account, codes.NoAccount, user, account)}
}

// accountAt is the account that a site runs a job of somebody under, who is user there: the one that the job names, or the one that pays for it, if the user has it there,
// else what that one is called at the site, or else the user's default one there. It is false if the user has no such account. A site without accounts has those
// of the federation.
func accountAt(site *federation.Site, user, here, named string) (account string, ok bool) {
	payer := ""
	if site.Payers != nil {
		payer = site.Payers.Account(here, named)
	}
	foreign := named != "" && !strings.EqualFold(named, payer) // it is not the one that pays
	if site.Seen.Associations == nil {
		if foreign && site.Payers != nil {
			return named, false
		}
		return cmp.Or(payer, named), true
	}
	all := site.Seen.Associations[user]
	for _, name := range []string{named, payer, site.Accounts[cmp.Or(payer, named)]} {
		if i := slices.IndexFunc(all, func(as federation.Association) bool { return strings.EqualFold(as.Account, name) }); name != "" && i >= 0 {
			return all[i].Account, true
		}
	}
	if foreign || len(all) == 0 {
		return named, false
	}
	return all[max(0, slices.IndexFunc(all, func(as federation.Association) bool { return as.Default }))].Account, true
}

// AccountAt is the account that a site which was seen runs a user's job under that names one: see [AtSite]. It is false if the user has none such there.
func AccountAt(site *federation.Site, user, named string) (account string, ok bool) {
	return accountAt(site, site.UserName(user), user, named)
}

// AtSite makes of a job what its site is asked for: it names the account that it runs under there, and excludes no nodes that other sites have. job is a copy.
func AtSite(site *federation.Site, job *federation.Job) {
	if site.Seen == nil {
		return
	}
	accounts := site.Payers != nil || len(site.Accounts) > 0
	ask := func(sp *sbatch.Spec) {
		sp.Exclude = excludedAt(site.Seen, sp.Exclude)
		if !accounts || site.Payers == nil && sp.Account == "" {
			return
		}
		if name, ok := AccountAt(site, job.User, sp.Account); ok {
			sp.Account = name
		}
	}
	job.EditSpec(func(sp *sbatch.Spec) {
		ask(sp)
		sp.Het = slices.Clone(sp.Het)
		for i := range sp.Het {
			ask(&sp.Het[i])
		}
	})
}

// excludedAt is what a site has of a list of nodes. A list that cannot be read is for the site to judge.
func excludedAt(seen *federation.Observation, list string) string {
	names, err := hostlist.ExpandLoosely(list)
	if err != nil {
		return list
	}
	known := slices.DeleteFunc(names, func(name string) bool { return seen.Node(name) == nil })
	if len(known) == len(names) {
		return list
	}
	return hostlist.Compress(known)
}

// limitRefusal is why the site does not take the job until others of its user have ended, nil if it does.
func limitRefusal(site *federation.Site, job *federation.Job) *refusal {
	for i := range site.Limited {
		if l := &site.Limited[i]; l.User == job.User && l.Account == job.Spec.Account && l.QOS == job.Spec.QOS {
			return forNow(reasons.SubmitLimit, codes.SubmitLimit, l.User)
		}
	}
	return nil
}

// siteRefusal is why a site takes no jobs at all, nil if it does.
func siteRefusal(site *federation.Site) *refusal {
	switch {
	case site.State != federation.FedActive:
		no := forNow(reasons.SiteDrain, codes.FedState, string(site.State))
		if site.StateWhy != "" {
			no.why.Args = append(no.why.Args, site.StateWhy)
		}
		return no
	case site.Seen == nil:
		no := silent(codes.NotSeen, site)
		no.never = site.Denied // it has answered, and will not run the job unless somebody acts
		return no
	case !site.Answering:
		return silent(codes.NoAnswer, site)
	}
	return nil
}

func silent(code codes.Code, site *federation.Site) *refusal {
	no := forNow(reasons.SiteUnavailable, code)
	if site.Error != "" {
		no.why.Args = []string{site.Error}
	}
	return no
}

// partRefusal judges a partition for a job by everything but its nodes.
func partRefusal(site *federation.Site, part *federation.Partition, job *federation.Job, a *ask, who access) *refusal {
	switch {
	case len(a.Partitions) == 0 && !part.Default || len(a.Partitions) > 0 && !slices.Contains(a.Partitions, part.Name):
		return forGood(reasons.Partition, codes.NotAsked)
	case !part.Up:
		return forNow(reasons.PartitionDown, codes.PartitionState, part.State)
	case part.RootOnly && !who.root: // slurmctld judges who submits, and that is SlurmUser for all
		return forGood(reasons.RootOnly, codes.RootOnly)
	}
	if no := accountRefusal(site, part, job, who); no != nil {
		return no
	}
	if no := reservationRefusal(site, job, who); no != nil {
		return no
	}
	limit := limitIn(job.Needs(), part)
	if job.Needs().TimeMin > 0 {
		limit = min(limit, job.Needs().TimeMin)
	}
	if part.MaxTime > 0 && part.MaxTime != sbatch.Unlimited && limit > part.MaxTime {
		return forGood(reasons.PartitionTime, codes.TooLong, shortTime(limit), shortTime(part.MaxTime))
	}
	if part.MaxNodes > 0 && a.MinNodes > part.MaxNodes {
		return forGood(reasons.PartitionNodes, codes.TooManyNodes, a.MinNodes, part.MaxNodes)
	}
	if part.MinNodes > 0 && a.MaxNodes > 0 && a.MaxNodes < part.MinNodes {
		return forGood(reasons.PartitionNodes, codes.TooFewNodes, a.MaxNodes, part.MinNodes)
	}
	return nil
}

func accountRefusal(site *federation.Site, part *federation.Partition, job *federation.Job, who access) *refusal {
	if who.account != "" {
		if len(part.AllowAccounts) > 0 && !slices.Contains(part.AllowAccounts, who.account) || slices.Contains(part.DenyAccounts, who.account) {
			return forGood(reasons.Account, codes.AccountBarred, who.account)
		}
	}
	user := site.UserName(job.User)
	associated, qosFound, qosListed := site.Seen.Associations == nil, false, false
	var own *federation.Association // that of the partition, if there is one
	for i := range site.Seen.Associations[user] {
		as := &site.Seen.Associations[user][i]
		if as.Account == who.account && (as.Partition == "" || as.Partition == part.Name) {
			if associated = true; own == nil || as.Partition != "" {
				own = as
			}
			qosListed = qosListed || len(as.QOS) > 0
			qosFound = qosFound || slices.Contains(as.QOS, job.Spec.QOS)
		}
	}
	named := job.Spec.QOS != ""
	switch {
	case !associated:
		return forGood(reasons.Account, codes.NotAssociated, user, who.account)
	case named && qosListed && !qosFound:
		return forGood(reasons.QOS, codes.QOSOfUser, user, job.Spec.QOS)
	case named && len(part.AllowQOS) > 0 && !slices.Contains(part.AllowQOS, job.Spec.QOS):
		return forGood(reasons.QOS, codes.QOSOfPartition, job.Spec.QOS)
	case part.QOS != "":
		return nil
	}
	if len(site.Seen.StrictQOS) == 0 {
		return nil
	}
	qos := cmp.Or(job.Spec.QOS, defaultQOS(site, own))
	longest, strict := site.Seen.StrictQOS[qos]
	if limit := job.Needs().TimeLimit; strict && limit > longest { // without a limit the job gets the QOS's
		return forGood(reasons.QOSTime, codes.QOSTooLong, shortTime(limit), qos, shortTime(longest))
	}
	return nil
}

// defaultQOS is the QOS of a job that names none, as slurmctld chooses it: the association's default one, which may be from an account above it, the only one that
// the association may use, or else that of root.
func defaultQOS(site *federation.Site, as *federation.Association) string {
	switch {
	case as != nil && as.DefaultQOS != "":
		return as.DefaultQOS
	case as != nil && len(as.QOS) == 1:
		return as.QOS[0]
	}
	return rootQOS(site.Seen)
}

func rootQOS(seen *federation.Observation) string {
	i := slices.IndexFunc(seen.Accounts, func(a federation.Account) bool { return a.Name == "root" })
	if i < 0 {
		return "normal"
	}
	return cmp.Or(seen.Accounts[i].DefaultQOS, "normal")
}

func reservationRefusal(site *federation.Site, job *federation.Job, who access) *refusal {
	name := job.Spec.Reservation
	if name == "" {
		return nil
	}
	user := site.UserName(job.User)
	for i := range site.Seen.Reservations {
		r := &site.Seen.Reservations[i]
		if r.Name != name {
			continue
		}
		open := len(r.Users) == 0 && len(r.Accounts) == 0
		if !open && !slices.Contains(r.Users, user) && !slices.Contains(r.Accounts, who.account) {
			return forGood(reasons.Reservation, codes.ReservationUsers, user, name)
		}
		return nil
	}
	return forGood(reasons.Reservation, codes.NoReservation, name)
}

// shortTime prints a time limit as Slurm does.
func shortTime(d time.Duration) string {
	if d == sbatch.Unlimited {
		return "UNLIMITED"
	}
	s := int64(d.Seconds())
	clock := fmt.Sprintf("%02d:%02d:%02d", s/3600%24, s/60%60, s%60)
	if days := s / 86400; days > 0 {
		return fmt.Sprintf("%d-%s", days, clock)
	}
	return clock
}
