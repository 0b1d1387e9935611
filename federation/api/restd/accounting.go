package restd

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	"fsub/accounting"
	"fsub/federation"
	"fsub/federation/accounts"
	"fsub/federation/api/identity"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// The federation's account tree is one cluster, of the federation's name. Without a tree, and where a site is asked for, it is what the site's accounting says, as the
// daemon last saw it; what the federation does not know of that, such as limits and usage, has the value that says nothing.

// entry is one record of a listing; it gets the fields that it lacks from its shape.
type entry map[string]any

// listed answers with a list that has a name.
func (s *Server) listed(w http.ResponseWriter, r *http.Request, c identity.Caller, name string, list []entry) error {
	rep := s.Reply(r, c)
	if len(list) == 0 {
		rep.Warnings = append(rep.Warnings, wire.Warning{Description: "found nothing", Source: "GET " + r.URL.Path})
	}
	return write(w, r, entry{name: list, "meta": rep.Meta, "errors": rep.Errors, "warnings": rep.Warnings})
}

// seen are the sites that a query's cluster names, all if it names none, without those of which nothing is known.
func (s *Server) seen(r *http.Request) []*federation.Site {
	return slices.DeleteFunc(slices.Clone(s.Lister.SitesOf(r.URL.Query())), func(site *federation.Site) bool { return site.Seen == nil })
}

// associated are the associations that a query selects. Those of accounts come before their users'.
func (s *Server) associated(r *http.Request, c identity.Caller) []v1.Association {
	q := r.URL.Query()
	accounts, users, parts := CSV(q, "account"), CSV(q, "user"), CSV(q, "partition")
	all, own := s.tree(r, c)
	for _, site := range s.seen(r) {
		if !own {
			all = append(all, s.Lister.Associations(site)...)
		}
	}
	return slices.DeleteFunc(all, func(a v1.Association) bool {
		return !s.Sees(c, a.Account, a.User) || !OneOf(accounts, a.Account) || !OneOf(users, a.User) || !OneOf(parts, a.Partition)
	})
}

// tree are the associations of the account tree, if that is asked for and there is one.
func (s *Server) tree(r *http.Request, c identity.Caller) (all []v1.Association, ok bool) {
	if cluster := r.URL.Query().Get("cluster"); s.Tree == nil || cluster != "" && cluster != s.Cluster {
		return nil, false
	}
	all = s.Tree(c)
	return all, all != nil
}

// grouped are the associations by what of says, with the names in the order in which they are met; "" is left out. A path's name is the
// only one that counts.
func (s *Server) grouped(r *http.Request, c identity.Caller, of func(*v1.Association) []string) (names []string, by map[string][]v1.Association) {
	by = map[string][]v1.Association{}
	only := r.PathValue("name")
	for _, a := range s.associated(r, c) {
		for _, name := range of(&a) {
			if name == "" || only != "" && name != only {
				continue
			}
			if by[name] == nil {
				names = append(names, name)
			}
			by[name] = append(by[name], a)
		}
	}
	return names, by
}

// associations is GET /associations and GET /association.
func (s *Server) associations(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	rep := s.Reply(r, c)
	list := s.associated(r, c)
	if len(list) > 1 && keyOf(r.Pattern) == "GET slurmdb/association" {
		list = list[:1]
	}
	return write(w, r, struct {
		Associations []v1.Association `json:"associations"`
		wire.Reply
	}{list, rep})
}

// accounts is GET /accounts and GET /account/{name}.
func (s *Server) accounts(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	names, by := s.grouped(r, c, func(a *v1.Association) []string { return []string{a.Account} })
	list := []entry{}
	for _, name := range names {
		list = append(list, entry{"name": name, "description": name, "associations": by[name]})
	}
	return s.listed(w, r, c, "accounts", list)
}

// users is GET /users and GET /user/{name}.
func (s *Server) users(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	names, by := s.grouped(r, c, func(a *v1.Association) []string { return []string{a.User} })
	slices.Sort(names)
	list := []entry{}
	for _, name := range names {
		e := entry{"name": name, "administrator_level": []string{"None"}, "flags": []string{"NONE"}, "associations": by[name]}
		for _, a := range by[name] {
			if a.Default {
				e["default"] = entry{"account": a.Account}
				break
			}
		}
		list = append(list, e)
	}
	return s.listed(w, r, c, "users", list)
}

// qos is GET /qos and GET /qos/{name}: those of the tree; without one, those that associations name.
func (s *Server) qos(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	list := []entry{}
	if _, own := s.tree(r, c); own {
		for i, q := range s.QOS() {
			if only := r.PathValue("name"); only == "" || only == q.Name {
				list = append(list, qosEntry(1+i, q))
			}
		}
		return s.listed(w, r, c, "qos", list)
	}
	names, _ := s.grouped(r, c, func(a *v1.Association) []string { return a.QOS })
	slices.Sort(names)
	for _, name := range names {
		list = append(list, entry{"name": name, "description": name, "priority": 0, "usage_factor": 1, "preempt": entry{"mode": []string{"DISABLED"}}})
	}
	return s.listed(w, r, c, "qos", list)
}

// qosEntry is a QOS of the tree with all that sites keep of one, too.
func qosEntry(id int, q *accounts.Record) entry {
	e := entry{"id": id, "name": q.Name, "description": q.Name}
	for _, o := range accounts.AtSites(accounts.QOS) {
		value := q.Value(o)
		switch tres, _ := value.(accounting.TRES); {
		case o.Name == "PreemptMode":
			value = []string{strings.ToUpper(cmp.Or(q.Set[o.Name], "disabled"))}
		case value == nil && o.Limit == nil: // Priority, GraceTime and UsageFactor have defaults
			value = map[string]any{"Priority": 0, "GraceTime": 0, "UsageFactor": 1}[o.Name]
		case tres != nil:
			value = tresEntries(tres)
		}
		e.set(o.Path(accounts.QOS), value)
	}
	return e
}

func tresEntries(tres accounting.TRES) (list []entry) {
	for _, full := range slices.Sorted(maps.Keys(tres)) {
		kind, name, _ := strings.Cut(full, "/")
		list = append(list, entry{"type": kind, "name": name, "count": tres[full]})
	}
	return list
}

// set sets what is at a path, as "limits.max.jobs.count".
func (e entry) set(path string, value any) {
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		next, ok := e[step].(entry)
		if !ok {
			next = entry{}
			e[step] = next
		}
		e = next
	}
	e[steps[len(steps)-1]] = value
}

// clusters is GET /clusters and GET /cluster/{name}.
func (s *Server) clusters(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	list := []entry{}
	for _, site := range s.seen(r) {
		name := string(site.Name)
		if only := r.PathValue("name"); only != "" && only != name {
			continue
		}
		var nodes []string
		for i := range site.Seen.Nodes {
			nodes = append(nodes, site.Seen.Nodes[i].Name)
		}
		list = append(list, entry{
			"name": name, "nodes": hostlist.Compress(nodes), "tres": AmountsOf(site.Seen.Nodes),
			"associations": entry{"root": entry{"account": "root", "cluster": name, "id": 1}},
		})
	}
	return s.listed(w, r, c, "clusters", list)
}

// tres is GET /tres: the kinds that the nodes of all sites have.
func (s *Server) tres(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	var nodes []federation.Node
	for _, site := range s.seen(r) {
		nodes = append(nodes, site.Seen.Nodes...)
	}
	list := []entry{}
	for _, t := range KindsOf(nodes) {
		list = append(list, entry{"type": t.Type, "name": t.Name, "id": t.ID})
	}
	return s.listed(w, r, c, "TRES", list)
}

// shares is GET /shares: who has how large a share of which account, and, of the tree, what was used and what follows from it.
func (s *Server) shares(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	type place struct{ cluster, parent string }
	sums := map[place]int64{} // of the shares below a parent
	all := s.associated(r, c)
	parent := func(a *v1.Association) string {
		switch {
		case a.User != "":
			return a.Account
		case a.Account == "root":
			return ""
		case a.ParentAccount == "":
			return "root"
		}
		return a.ParentAccount
	}
	for i := range all {
		sums[place{all[i].Cluster, parent(&all[i])}] += all[i].Shares
	}
	list := []entry{}
	for i := range all {
		a := &all[i]
		e := entry{
			"id": a.ID, "cluster": a.Cluster, "name": a.Account, "parent": parent(a), "partition": a.Partition, "shares": a.Shares,
			"shares_normalized": float64(a.Shares) / float64(sums[place{a.Cluster, parent(a)}]), "type": []string{"ASSOCIATION"},
		}
		if a.User != "" {
			e["name"], e["type"] = a.User, []string{"USER"}
		}
		if u := a.Usage; u != nil {
			var level any = u.LevelFS
			if u.LevelFS < 0 {
				level = entry{"set": false, "infinite": true, "number": 0}
			}
			e["shares_normalized"], e["usage"], e["usage_normalized"], e["effective_usage"] = u.NormShares, int64(u.Raw), u.Norm, u.Effective
			e["fairshare"] = entry{"factor": u.FairShare, "level": level}
		}
		list = append(list, e)
	}
	rep := s.Reply(r, c)
	return write(w, r, entry{"shares": entry{"shares": list}, "meta": rep.Meta, "errors": rep.Errors, "warnings": rep.Warnings})
}
