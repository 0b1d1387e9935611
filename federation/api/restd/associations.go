package restd

import (
	"slices"
	"strings"

	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/wire"
)

// Associations lists a site's accounts, each with its users behind it. Accounts that the site told nothing of stand at the end.
func (s *Lister) Associations(site *federation.Site) []v1.Association {
	byAccount := map[string][]v1.Association{}
	users := make([]string, 0, len(site.Seen.Associations))
	for name := range site.Seen.Associations {
		users = append(users, name)
	}
	slices.Sort(users)
	var order []string
	for _, name := range users {
		for _, a := range site.Seen.Associations[name] {
			if _, met := byAccount[a.Account]; !met {
				order = append(order, a.Account)
			}
			byAccount[a.Account] = append(byAccount[a.Account], v1.Association{Cluster: string(site.Name), Account: a.Account, User: name, UID: s.uidOf(name),
				Partition: a.Partition, QOS: a.QOS, DefaultQOS: a.DefaultQOS, Default: a.Default, ID: a.ID, Shares: max(a.Shares, 1)})
		}
	}
	var out []v1.Association
	for _, a := range site.Seen.Accounts {
		out = append(out, v1.Association{Cluster: string(site.Name), Account: a.Name, ParentAccount: a.Parent, QOS: a.QOS, DefaultQOS: a.DefaultQOS,
			ID: a.ID, Shares: max(a.Shares, 1)})
		out = append(out, byAccount[a.Name]...)
		delete(byAccount, a.Name)
	}
	slices.Sort(order)
	for _, name := range order {
		out = append(out, byAccount[name]...)
	}
	return out
}

func (s *Lister) uidOf(name string) *uint32 {
	uid, _, err := s.Users.UserIDs(name)
	if err != nil {
		return nil
	}
	return &uid
}

// KindsOf are the TRES that nodes have, in the order and with the numbers of Slurm's own.
func KindsOf(nodes []federation.Node) []wire.TRES {
	out := []wire.TRES{{Type: "cpu", ID: 1}, {Type: "mem", ID: 2}, {Type: "energy", ID: 3}, {Type: "node", ID: 4}, {Type: "billing", ID: 5},
		{Type: "fs", Name: "disk", ID: 6}, {Type: "vmem", ID: 7}, {Type: "pages", ID: 8}}
	seen := map[string]bool{}
	var gres []string
	for i := range nodes {
		for _, g := range nodes[i].GRES {
			for _, name := range []string{g.Name, strings.TrimSuffix(g.Name+":"+g.Type, ":")} {
				if !seen[name] {
					seen[name] = true
					gres = append(gres, name)
				}
			}
		}
	}
	slices.Sort(gres)
	for i, name := range gres {
		out = append(out, wire.TRES{Type: "gres", Name: name, ID: int64(1001 + i)})
	}
	return out
}

// AmountsOf is how much of each kind nodes have in all.
func AmountsOf(nodes []federation.Node) []wire.TRES {
	out := KindsOf(nodes)
	sums := map[string]int64{"node/": int64(len(nodes))}
	for i := range nodes {
		n := &nodes[i]
		sums["cpu/"] += int64(n.CPUs)
		sums["billing/"] += int64(n.CPUs)
		sums["mem/"] += int64(n.Mem)
		for _, g := range n.GRES {
			sums["gres/"+g.Name] += int64(g.Total)
			if g.Type != "" {
				sums["gres/"+g.Name+":"+g.Type] += int64(g.Total)
			}
		}
	}
	for i := range out {
		out[i].Count = sums[out[i].Type+"/"+out[i].Name]
	}
	return out
}
