package api

import (
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/slurm/hostlist"
)

var nodeKeys = []string{"site", "gpu", "partition", "pool", "state", "feature", "reason", "owner"}

// holds reports whether a node meets a condition.
func (w *where) holds(m *memberNode) bool {
	n := m.node
	switch w.key {
	case "site":
		return w.met(string(m.site.Name))
	case "partition", "pool":
		return w.met(n.Partitions...)
	case "feature":
		return w.met(n.Features...)
	case "state":
		return w.met(append(nodeWords(n), n.State...)...)
	case "gpu":
		var kinds []string
		for _, g := range n.GRES {
			if g.Name == "gpu" && g.Total > 0 {
				kinds = append(kinds, g.Type, "any")
			}
		}
		return w.met(kinds...)
	case "owner":
		if m.record == nil {
			return w.wants(false)
		}
		return w.met(m.record.Owner)
	}
	return w.wants(strings.Contains(strings.ToLower(n.Reason), strings.ToLower(w.value))) // reason
}

// nodeWords are what sinfo would say of the node's state beside the site's own: DRAINING and DRAINED.
func nodeWords(n *federation.Node) []string {
	has := func(s string) bool { return slices.Contains(n.State, s) }
	switch busy := has("ALLOCATED") || has("MIXED") || has("COMPLETING"); {
	case !has("DRAIN"):
		return nil
	case busy:
		return []string{"DRAINING"}
	}
	return []string{"DRAINED"}
}

// chooseNodes returns the nodes that names and conditions choose, in order of site and name; all if there are neither.
func chooseNodes(all []memberNode, names, conditions []string) ([]memberNode, error) {
	conds, err := readWheres(conditions, nodeKeys)
	if err != nil {
		return nil, err
	}
	chosen := all
	if len(names) > 0 {
		if chosen, err = namedNodes(all, names); err != nil {
			return nil, err
		}
	}
	out := make([]memberNode, 0, len(chosen))
	for i := range chosen {
		if !slices.ContainsFunc(conds, func(w where) bool { return !w.holds(&chosen[i]) }) {
			out = append(out, chosen[i])
		}
	}
	return out, nil
}

// mostSites bounds how often a list of nodes may name sites.
const mostSites = 1024

// named finds the nodes of some texts: SITE/HOSTLIST, SITE/*, HOSTLIST.
func namedNodes(all []memberNode, texts []string) ([]memberNode, error) {
	byName := make(map[string][]int, len(all))
	sites := map[string]bool{}
	for i := range all {
		byName[all[i].node.Name] = append(byName[all[i].node.Name], i)
		sites[string(all[i].site.Name)] = true
	}
	wanted := make([]bool, len(all))
	if list := strings.Join(texts, ","); strings.Count(list, "/") > mostSites {
		return nil, fmt.Errorf("invalid list of nodes %.40q...: at most %d times SITE/ is allowed", list, mostSites)
	}
	if n, err := hostlist.Count(strings.Join(texts, ",")); err == nil && n > len(all)+mostSites {
		return nil, fmt.Errorf("invalid list of nodes: it stands for %d names, and there are %d nodes", n, len(all))
	}
	site := ""
	for _, text := range texts {
		for k, item := range hostlist.Split(text) { // alpha/n[1-2],gamma/g1
			before, list, has := strings.Cut(item, "/")
			switch {
			case has:
				site = before
			case k == 0:
				site, list = "", item
			default: // of the site before the last comma
				list = item
			}
			if site != "" && !sites[site] {
				return nil, fmt.Errorf("no nodes of a site %q are known; see: fed site list", site)
			}
			if err := markNodes(all, byName, site, list, wanted); err != nil {
				return nil, err
			}
		}
	}
	var out []memberNode
	for i := range all {
		if wanted[i] {
			out = append(out, all[i])
		}
	}
	return out, nil
}

// unknownNode says of which node nobody knows.
type unknownNode string

func (e unknownNode) Error() string { return string(e) }

// markNodes marks the nodes of a hostlist, of one site or, if site is "", of the only site that has them.
func markNodes(all []memberNode, byName map[string][]int, site, list string, wanted []bool) error {
	if site != "" && list == "*" {
		for i := range all {
			wanted[i] = wanted[i] || string(all[i].site.Name) == site
		}
		return nil
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return fmt.Errorf("invalid list of nodes %q: %v", list, err)
	}
	for _, name := range names {
		found := byName[name]
		if site != "" {
			found = slices.DeleteFunc(slices.Clone(found), func(i int) bool { return string(all[i].site.Name) != site })
		}
		switch {
		case len(found) == 0 && site != "":
			return unknownNode(fmt.Sprintf("site %s has no node %s", site, name))
		case len(found) == 0:
			return unknownNode("no site has a node " + name)
		case len(found) > 1:
			var of []string
			for _, i := range found {
				of = append(of, string(all[i].site.Name)+"/"+name)
			}
			return fmt.Errorf("several sites have a node %s: write %s", name, strings.Join(of, " or "))
		}
		wanted[found[0]] = true
	}
	return nil
}
