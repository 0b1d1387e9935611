package sacctmgr

import (
	"cmp"
	"slices"

	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// selects reports whether an association meets the conditions; the names are the entity's own affair.
func (q *query) selects(a *v1.Association) bool {
	oneOf := func(list []string, value string) bool { return len(list) == 0 || slices.Contains(list, value) }
	return oneOf(q.users, a.User) && oneOf(q.accounts, a.Account) && oneOf(q.clusters, a.Cluster) && oneOf(q.partitions, a.Partition) &&
		(len(q.qos) == 0 || slices.ContainsFunc(a.QOS, func(s string) bool { return slices.Contains(q.qos, s) }))
}

func (q *query) named(name string) bool { return len(q.names) == 0 || slices.Contains(q.names, name) }

// userRows has one row for each user, in the order of the alphabet, or with associations one for
// each of them. The default account of a user is that of the first site that has one.
func (q *query) userRows(known *v1.Associations) []row {
	defaults := map[string]string{}
	of := map[string][]*v1.Association{}
	var users []string
	for i := range known.Associations {
		a := &known.Associations[i]
		if a.User == "" || !q.named(a.User) {
			continue
		}
		if defaults[a.User] == "" && a.Default {
			defaults[a.User] = a.Account
		}
		if !q.selects(a) {
			continue
		}
		if of[a.User] == nil {
			users = append(users, a.User)
		}
		of[a.User] = append(of[a.User], a)
	}
	slices.Sort(users)
	var out []row
	for _, u := range users {
		r := row{name: u, account: defaults[u], admin: "None"}
		if u == "root" {
			r.admin = "Administrator"
		}
		if !q.withAssoc {
			out = append(out, r)
			continue
		}
		for _, a := range of[u] {
			r.Association = a
			out = append(out, r)
		}
	}
	return out
}

// accountRows has one row for each account, in the order of the alphabet, or with associations one
// for each of them.
func (q *query) accountRows(known *v1.Associations) []row {
	of := map[string][]*v1.Association{}
	var accounts []string
	for i := range known.Associations {
		a := &known.Associations[i]
		if !q.named(a.Account) || !q.selects(a) {
			continue
		}
		if of[a.Account] == nil {
			accounts = append(accounts, a.Account)
		}
		of[a.Account] = append(of[a.Account], a)
	}
	slices.Sort(accounts)
	var out []row
	for _, name := range accounts {
		if !q.withAssoc {
			out = append(out, row{name: name})
			continue
		}
		for _, a := range of[name] {
			out = append(out, row{name: name, Association: a})
		}
	}
	return out
}

// associationRows has one row for each association, site by site. In a tree, accounts and users are
// set in below what they belong to.
func (q *query) associationRows(known *v1.Associations) []row {
	parent := map[[2]string]string{}
	for _, a := range known.Associations {
		if a.User == "" {
			parent[[2]string{a.Cluster, a.Account}] = a.ParentAccount
		}
	}
	var out []row
	for i := range known.Associations {
		a := &known.Associations[i]
		if !q.selects(a) || !q.named(a.User) {
			continue
		}
		r := row{Association: a}
		if q.asTree {
			for up := parent[[2]string{a.Cluster, a.Account}]; up != "" && r.depth < 100; up = parent[[2]string{a.Cluster, up}] {
				r.depth++
			}
			if a.User != "" {
				r.depth++
			}
		}
		out = append(out, r)
	}
	return out
}

func (q *query) clusterRows(known *v1.Associations) []row {
	var out []row
	for _, c := range known.Clusters {
		if !q.named(c.Name) || len(q.clusters) > 0 && !slices.Contains(q.clusters, c.Name) {
			continue
		}
		r := row{name: c.Name}
		for i := range known.Associations { // the cluster's own limits are those of its root account
			if a := &known.Associations[i]; a.Cluster == c.Name && a.User == "" && a.ParentAccount == "" {
				r.Association = a
				break
			}
		}
		out = append(out, r)
	}
	return out
}

func (q *query) qosRows(known *v1.Associations) []row {
	var out []row
	for _, name := range known.QOS() {
		if q.named(name) {
			out = append(out, row{name: name})
		}
	}
	return out
}

// tresRows has each TRES that any site has, once: the kinds that every site has, then the generic
// resources by name. Sites number these as they like; here they count on from Slurm's first.
func (q *query) tresRows(known *v1.Associations) []row {
	var all []wire.TRES
	for _, c := range known.Clusters {
		for _, t := range c.TRES {
			if !slices.ContainsFunc(all, func(x wire.TRES) bool { return x.Type == t.Type && x.Name == t.Name }) {
				all = append(all, t)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b wire.TRES) int {
		if a.Type != "gres" || b.Type != "gres" {
			return cmp.Compare(a.ID, b.ID)
		}
		return cmp.Compare(a.Name, b.Name)
	})
	var out []row
	next := int64(1001)
	for _, t := range all {
		if t.Type == "gres" {
			t.ID = next
			next++
		}
		if q.named(t.Name) && (len(q.types) == 0 || slices.Contains(q.types, t.Type)) {
			out = append(out, row{tres: t})
		}
	}
	return out
}
