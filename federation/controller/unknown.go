package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/sbatch"
	"fsub/slurm/hostlist"
)

// unknown refuses a job with a name that means nothing anywhere: an account, a QOS, a node or an accepted kind of GPU. As slurmctld does, it says so when the job is
// submitted: a slip would have it run where nobody checks names, on rented machines. Nothing is unknown while some site has not been seen yet, but one that refuses
// our token: it runs nothing.
func (jd *judging) unknown(j *federation.Job) error {
	var sites []*federation.Site
	for _, s := range jd.shown.Load().sites {
		switch {
		case s.Seen != nil:
			sites = append(sites, s)
		case !s.Denied:
			return nil
		}
	}
	if len(sites) == 0 {
		return nil
	}
	n := known{sites: sites, priced: jd.priced}
	if jd.limits.Load().book != nil {
		n.tree = jd.limits.Load().book.Tree()
	}
	if err := n.check(j.User, j.Spec); err != nil {
		return err
	}
	for i := range j.Spec.Het {
		if err := n.check(j.User, &j.Spec.Het[i]); err != nil {
			return err
		}
	}
	return nil
}

// known are the names that mean something in a federation.
type known struct {
	sites []*federation.Site
	tree  *accounts.Tree // nil: there is none

	priced func() map[string]bool // see Config
}

func (n *known) check(user string, sp *sbatch.Spec) error {
	switch {
	case sp.Account != "" && n.kept() && !n.hasAccount(user, sp.Account):
		return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2045, Text: "Invalid account or account/partition combination specified",
			Detail: fmt.Sprintf("there is no account %s, neither in the account tree nor at a site", sp.Account)}
	case sp.QOS != "" && n.kept() && !n.hasQOS(user, sp.QOS):
		return &federation.SlurmError{Kind: federation.ErrDenied, Number: 2066, Text: "Invalid qos specification",
			Detail: fmt.Sprintf("neither the account tree nor a site gives user %s a QOS %s", user, sp.QOS)}
	}
	for _, list := range [...]string{sp.NodeList, sp.Exclude} {
		all, _ := hostlist.ExpandLoosely(list)
		for _, name := range all {
			if !slices.ContainsFunc(n.sites, func(s *federation.Site) bool { return s.Seen.Node(name) != nil }) {
				return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2018, Text: "Invalid node name specified", Detail: fmt.Sprintf("no site has a node %s", name)}
			}
		}
	}
	if sp.Fed == nil {
		return nil
	}
	for _, as := range sp.Fed.Accelerators {
		kind, _, _ := strings.Cut(as, ":")
		kind = strings.ToLower(kind)
		if types := n.gpuTypes(); !types[kind] && (n.priced == nil || !n.priced()[kind]) {
			there := strings.Join(slices.Sorted(maps.Keys(types)), ", ")
			return &federation.SlurmError{Kind: federation.ErrInvalid, Number: 2072, Text: "Invalid generic resource (gres) specification",
				Detail: fmt.Sprintf("--fed-accelerators=%s: neither a site nor a price list has accelerators of type %s; sites have %s", as, kind, there)}
		}
	}
	return nil
}

// kept reports whether somebody keeps accounts and QOS. A Slurm cluster that does not enforce any takes all names.
func (n *known) kept() bool {
	kept := n.tree != nil && len(n.tree.Records()) > 1
	for _, s := range n.sites {
		if s.Seen.Associations != nil {
			kept = true
		} else if !s.Seen.NoSlurm && (n.tree == nil || n.tree.Empty()) {
			return false
		}
	}
	return kept
}

func (n *known) hasAccount(user, name string) bool {
	if n.tree != nil && n.tree.Get(accounts.AccountKey(strings.ToLower(name))) != nil {
		return true
	}
	return slices.ContainsFunc(n.sites, func(s *federation.Site) bool {
		return slices.ContainsFunc(s.Seen.Accounts, func(a federation.Account) bool { return strings.EqualFold(a.Name, name) }) ||
			slices.ContainsFunc(s.Seen.Associations[s.UserName(user)], func(a federation.Association) bool { return strings.EqualFold(a.Account, name) })
	})
}

// hasQOS reports whether the tree has a QOS, or a site gives it to a user. An association without any says nothing of them: older sites do not tell.
func (n *known) hasQOS(user, name string) bool {
	if name == "normal" || n.tree != nil && n.tree.Get(accounts.QOSKey(strings.ToLower(name))) != nil {
		return true
	}
	return slices.ContainsFunc(n.sites, func(s *federation.Site) bool {
		return slices.ContainsFunc(s.Seen.Associations[s.UserName(user)], func(a federation.Association) bool { return len(a.QOS) == 0 || slices.Contains(a.QOS, name) })
	})
}

// gpuTypes are the kinds of GPUs that sites have or have a price for, in lower case.
func (n *known) gpuTypes() map[string]bool {
	all := map[string]bool{}
	for _, s := range n.sites {
		for i := range s.Seen.Nodes {
			for _, g := range s.Seen.Nodes[i].GRES {
				if g.Name == "gpu" && g.Type != "" {
					all[strings.ToLower(g.Type)] = true
				}
			}
		}
		for tres := range s.Prices {
			if kind, ok := strings.CutPrefix(tres, "gres/gpu:"); ok {
				all[strings.ToLower(kind)] = true
			}
		}
		for kind := range s.Speed {
			all[strings.ToLower(kind)] = kind != ""
		}
	}
	delete(all, "")
	return all
}
