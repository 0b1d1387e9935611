package restd

import (
	"net/http"
	"slices"

	"fsub/federation"
	"fsub/federation/api/identity"
	"fsub/federation/api/listing"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
	"fsub/slurm/wire"
)

// What the sites' accounting says, as the daemon last saw it. Every site is a cluster there. What the federation does not know of it,
// such as limits and usage, has the value that says nothing.

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
func (s *Server) associated(r *http.Request) []v1.Association {
	q := r.URL.Query()
	accounts, users, parts := listing.CSV(q, "account"), listing.CSV(q, "user"), listing.CSV(q, "partition")
	var out []v1.Association
	for _, site := range s.seen(r) {
		for _, a := range s.Lister.Associations(site) {
			if listing.OneOf(accounts, a.Account) && listing.OneOf(users, a.User) && listing.OneOf(parts, a.Partition) {
				out = append(out, a)
			}
		}
	}
	return out
}

// grouped are the associations by what of says, with the names in the order in which they are met; "" is left out. A path's name is the
// only one that counts.
func (s *Server) grouped(r *http.Request, of func(*v1.Association) []string) (names []string, by map[string][]v1.Association) {
	by = map[string][]v1.Association{}
	only := r.PathValue("name")
	for _, a := range s.associated(r) {
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
	list := s.associated(r)
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
	names, by := s.grouped(r, func(a *v1.Association) []string { return []string{a.Account} })
	list := []entry{}
	for _, name := range names {
		list = append(list, entry{"name": name, "description": name, "associations": by[name]})
	}
	return s.listed(w, r, c, "accounts", list)
}

// users is GET /users and GET /user/{name}.
func (s *Server) users(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	names, by := s.grouped(r, func(a *v1.Association) []string { return []string{a.User} })
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

// qos is GET /qos and GET /qos/{name}: those that associations name.
func (s *Server) qos(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	names, _ := s.grouped(r, func(a *v1.Association) []string { return a.QOS })
	slices.Sort(names)
	list := []entry{}
	for _, name := range names {
		list = append(list, entry{"name": name, "description": name, "priority": 0, "usage_factor": 1, "preempt": entry{"mode": []string{"DISABLED"}}})
	}
	return s.listed(w, r, c, "qos", list)
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
			"name": name, "nodes": hostlist.Compress(nodes), "tres": listing.AmountsOf(site.Seen.Nodes),
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
	for _, t := range listing.KindsOf(nodes) {
		list = append(list, entry{"type": t.Type, "name": t.Name, "id": t.ID})
	}
	return s.listed(w, r, c, "TRES", list)
}

// shares is GET /shares: who has how large a share of which account. The federation does not compute what has been used.
func (s *Server) shares(w http.ResponseWriter, r *http.Request, c identity.Caller) error {
	type place struct{ cluster, parent string }
	sums := map[place]int64{} // of the shares below a parent
	all := s.associated(r)
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
		list = append(list, e)
	}
	rep := s.Reply(r, c)
	return write(w, r, entry{"shares": entry{"shares": list}, "meta": rep.Meta, "errors": rep.Errors, "warnings": rep.Warnings})
}
