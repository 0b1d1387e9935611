package api

import (
	"fmt"
	"slices"
	"strings"

	"fsub/federation"
	"fsub/federation/api/answer"
	"fsub/slurm/hostlist"
)

// nodeCondition is one condition: a key, and the values of which one must be met.
type nodeCondition struct {
	key    string
	values []string
}

var nodeKeys = []string{"site", "gpu", "partition", "pool", "state", "feature", "reason", "owner"}

func readNodeConditions(texts []string) ([]nodeCondition, error) {
	if err := answer.FewWords("where", texts); err != nil {
		return nil, err
	}
	var out []nodeCondition
	for _, text := range texts {
		key, values, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(nodeKeys, key) {
			return nil, fmt.Errorf("invalid condition %q: want KEY=VALUE with one of the keys %s", text, strings.Join(nodeKeys, ", "))
		}
		w := nodeCondition{key: key, values: strings.Split(values, ",")}
		if key == "reason" { // which may have commas
			w.values = []string{values}
		}
		out = append(out, w)
	}
	return out, nil
}

func (w *nodeCondition) holds(m *memberNode) bool {
	n := m.node
	has := func(list []string) bool {
		return slices.ContainsFunc(w.values, func(v string) bool {
			return slices.ContainsFunc(list, func(s string) bool { return strings.EqualFold(s, v) })
		})
	}
	switch w.key {
	case "site":
		return slices.Contains(w.values, string(m.site.Name)) || slices.Contains(w.values, "*")
	case "partition", "pool":
		return slices.ContainsFunc(w.values, func(v string) bool { return slices.Contains(n.Partitions, v) })
	case "feature":
		return slices.ContainsFunc(w.values, func(v string) bool { return slices.Contains(n.Features, v) })
	case "state":
		return has(append(nodeWords(n), n.State...))
	case "gpu":
		for _, g := range n.GRES {
			if g.Name == "gpu" && g.Total > 0 && (slices.Contains(w.values, "any") || has([]string{g.Type})) {
				return true
			}
		}
		return false
	case "owner":
		return m.record != nil && slices.Contains(w.values, m.record.Owner)
	}
	return strings.Contains(strings.ToLower(n.Reason), strings.ToLower(w.values[0])) // reason
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
	conds, err := readNodeConditions(conditions)
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
		if !slices.ContainsFunc(conds, func(w nodeCondition) bool { return !w.holds(&chosen[i]) }) {
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
