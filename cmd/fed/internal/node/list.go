package node

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"fsub/cmd/fed/internal/cli"
	"fsub/federation"
	v1 "fsub/federation/api/v1"
	"fsub/slurm/hostlist"
)

func hasState(n *v1.Node, s string) bool { return slices.Contains(n.State, s) }

// nodeBusy reports whether jobs run on a node, or are just ending there.
func nodeBusy(n *v1.Node) bool {
	return hasState(n, "ALLOCATED") || hasState(n, "MIXED") || hasState(n, "COMPLETING")
}

// NodeState is a node's state in one word, as sinfo writes it: a star where it does not answer.
func NodeState(n *v1.Node) string {
	word := "UNKNOWN"
	if len(n.State) > 0 {
		word = n.State[0]
	}
	busy := nodeBusy(n)
	never := n.Unconfirmed && n.Stale // the drain is wanted, and the site was never told
	switch drained := hasState(n, "DRAIN") && !never; {
	case drained && hasState(n, "DOWN"):
		word = "DOWN+DRAIN"
	case drained && busy:
		word = "DRAINING"
	case drained:
		word = "DRAINED"
	case hasState(n, "DOWN"):
		word = "DOWN"
	case hasState(n, "MAINTENANCE") || hasState(n, "MAINT"):
		word = "MAINT"
	case hasState(n, "POWERED_DOWN"):
		word += "~"
	case hasState(n, "POWERING_UP"):
		word += "#"
	}
	if hasState(n, "NOT_RESPONDING") || n.Stale {
		word += "*"
	}
	return word
}

// NodeReason is why a node takes no new jobs: its site's word, or that it is suspected.
func NodeReason(n *v1.Node) string {
	if n.Suspected == nil {
		return n.Reason
	}
	text := "suspected: " + n.Suspected.Rule + " until " + n.Suspected.Until.Local().Format("15:04")
	if n.Reason != "" {
		text += "; " + n.Reason
	}
	return text
}

// nodeWanted says what is wanted of a node, where that differs from what is shown or explains it.
func nodeWanted(n *v1.Node) string {
	w := n.Wanted
	if w == nil || w.State == federation.WishResume && n.Note == "" {
		return ""
	}
	text := strings.TrimSpace(string(w.State) + " by " + w.Owner + " " + w.Ticket)
	if w.Until != nil {
		text += " until " + cli.When(*w.Until)
	}
	if w.Requeue {
		text += ", requeue"
	}
	if n.Unconfirmed {
		text += ", the site does not show it yet"
	}
	if n.Note != "" {
		text += ": " + n.Note
	}
	return text
}

func nodeGPUs(n *v1.Node) string {
	switch {
	case n.GPUs == 0:
		return ""
	case n.GPUType == "":
		return fmt.Sprint(n.GPUs)
	}
	return fmt.Sprintf("%s:%d", n.GPUType, n.GPUs)
}

func nodeAge(n *v1.Node) string { return max(time.Since(n.Seen), 0).Round(time.Second).String() }

// cells are a node's columns but for its name.
func nodeCells(n *v1.Node) [6]string {
	return [6]string{NodeState(n), nodeGPUs(n), strings.Join(n.Partitions, ","), strings.ReplaceAll(NodeReason(n), "\t", " "), n.ReasonBy, nodeWanted(n)}
}

// listNodes prints nodes, those that are alike together unless each is to have a line of its own.
func listNodes(out io.Writer, nodes []v1.Node, each bool) error {
	t, flush := cli.NewWideTable(out)
	t.Row("SITE", "STATE", "NODES", "NODELIST", "GPUS", "PARTITION", "AGE", "REASON", "BY", "WANTED")
	type key struct {
		site  federation.SiteName
		cells [6]string
	}
	var order []key
	names, ages := map[key][]string{}, map[federation.SiteName]string{}
	line := func(site federation.SiteName, list string, count int, cells [6]string) {
		t.Row(string(site), cells[0], fmt.Sprint(count), list, cells[1], cells[2], ages[site], cells[3], cells[4], cells[5])
	}
	for i := range nodes {
		n := &nodes[i]
		if ages[n.Site] == "" {
			ages[n.Site] = nodeAge(n)
		}
		if each {
			line(n.Site, n.Name, 1, nodeCells(n))
			continue
		}
		k := key{n.Site, nodeCells(n)}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k] = append(names[k], n.Name)
	}
	for _, k := range order {
		line(k.site, hostlist.Compress(names[k]), len(names[k]), k.cells)
	}
	return flush()
}

// listReasons prints the nodes that have a reason, by reason and over all sites.
func listReasons(out io.Writer, nodes []v1.Node) error {
	t, flush := cli.NewWideTable(out)
	t.Row("REASON", "BY", "SINCE", "STATE", "NODES", "NODELIST")
	type key struct{ reason, by, since, state string }
	var order []key
	names := map[key][]string{}
	for i := range nodes {
		n := &nodes[i]
		if n.Reason == "" || n.Usable {
			continue
		}
		k := key{n.Reason, n.ReasonBy, "", NodeState(n)}
		if n.ReasonAt != nil {
			k.since = cli.When(*n.ReasonAt)
		}
		if names[k] == nil {
			order = append(order, k)
		}
		names[k] = append(names[k], string(n.Site)+"/"+n.Name)
	}
	for _, k := range order {
		t.Row(k.reason, k.by, k.since, k.state, fmt.Sprint(len(names[k])), strings.Join(cli.CompressNames(names[k]), ","))
	}
	return flush()
}

// printSaid prints what was made of an order: one line for all nodes of which the same is true.
func printSaid(out io.Writer, said []v1.NodeSet, wish federation.NodeWish) error {
	var order []string
	names := map[string][]string{}
	for _, s := range said {
		text := strings.ToLower(string(wish))
		switch {
		case s.Left && wish == federation.WishResume:
			text = "left as it is: " + s.Note
		case s.Note != "":
			text += ": " + s.Note
		}
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], string(s.Site)+"/"+s.Name)
	}
	for _, text := range order {
		if _, err := fmt.Fprintf(out, "%s: %s\n", strings.Join(cli.CompressNames(names[text]), ","), text); err != nil {
			return err
		}
	}
	return nil
}

func showNode(out io.Writer, n *v1.Node) error {
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(out, "%-11s %s\n", name, value)
		}
	}
	line("node", string(n.Site)+"/"+n.Name)
	line("state", strings.Join(n.State, "+"))
	line("reason", n.Reason)
	if s := n.Suspected; s != nil {
		line("suspected", fmt.Sprintf("by rule %s until %s: %s", s.Rule, cli.When(s.Until), s.Why))
	}
	if n.ReasonAt != nil {
		line("reason by", n.ReasonBy+" at "+cli.When(*n.ReasonAt))
	}
	line("wanted", nodeWanted(n))
	line("seen", nodeAge(n)+" ago")
	if n.Stale {
		line("", "the site does not answer since")
	}
	line("partitions", strings.Join(n.Partitions, ","))
	line("features", strings.Join(n.Features, ","))
	line("gpus", nodeGPUs(n))
	line("cpus", fmt.Sprintf("%d, %d of them used", n.CPUs, n.CPUsUsed))
	if len(n.History) == 0 {
		return nil
	}
	fmt.Fprintln(out)
	t := cli.NewTable(out)
	t.Row("TIME", "WHO", "FROM", "TO", "WHY")
	for _, h := range n.History {
		to := h.To
		if h.Wanted {
			to = "wanted: " + to
		}
		t.Row(cli.When(h.Time), h.Who, h.From, to, h.Why)
	}
	return t.Flush()
}
