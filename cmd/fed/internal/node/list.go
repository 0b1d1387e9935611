package node

import (
	"fmt"
	"io"
	"slices"
	"strconv"
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
	if w.Move {
		text += ", move"
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

func nodeAge(n *v1.Node) string { return v1.Age(time.Since(n.Seen)) }

// line is a line of fed node list: nodes of a site that are alike, the first of which is like all others.
type line struct {
	like  *v1.Node
	names []string
}

func (l *line) list() string { return hostlist.Compress(l.names) }

// nodeLines are the columns of fed node list. Nodes of which all but these two are the same are alike: NODES and NODELIST.
var nodeLines = v1.Noun[line, v1.None]{Columns: []v1.Column[line]{
	{Head: "SITE", Cell: func(l *line) string { return string(l.like.Site) }},
	{Head: "STATE", Cell: func(l *line) string { return NodeState(l.like) }},
	{Head: "NODES", Cell: func(l *line) string { return strconv.Itoa(len(l.names)) }},
	{Head: "NODELIST", Cell: (*line).list},
	{Head: "GPUS", Cell: func(l *line) string { return nodeGPUs(l.like) }},
	{Head: "PARTITION", Cell: func(l *line) string { return strings.Join(l.like.Partitions, ",") }},
	{Head: "AGE", Cell: func(l *line) string { return nodeAge(l.like) }},
	{Head: "REASON", Cell: func(l *line) string { return strings.ReplaceAll(NodeReason(l.like), "\t", " ") }},
	{Head: "BY", Cell: func(l *line) string { return l.like.ReasonBy }},
	{Head: "WANTED", Cell: func(l *line) string { return nodeWanted(l.like) }},
}}

// alike puts nodes into lines, those that are alike into one unless each is to have its own.
func alike(nodes []v1.Node, each bool) []line {
	return group(nodes, func(n *v1.Node) any {
		if each {
			return n
		}
		return [...]string{string(n.Site), NodeState(n), nodeGPUs(n), strings.Join(n.Partitions, ","), NodeReason(n), n.ReasonBy, nodeWanted(n)}
	}, func(n *v1.Node) string { return n.Name })
}

// group puts nodes of the same key into one line, in the order of the first of each.
func group(nodes []v1.Node, key func(*v1.Node) any, name func(*v1.Node) string) (lines []line) {
	at := map[any]int{}
	for i := range nodes {
		n := &nodes[i]
		k := key(n)
		j, ok := at[k]
		if !ok {
			j = len(lines)
			at[k], lines = j, append(lines, line{like: n})
		}
		lines[j].names = append(lines[j].names, name(n))
	}
	return lines
}

// reasonLines are the columns of fed node list -R, over all sites.
var reasonLines = v1.Noun[line, v1.None]{Columns: []v1.Column[line]{
	{Head: "REASON", Cell: func(l *line) string { return l.like.Reason }},
	{Head: "BY", Cell: func(l *line) string { return l.like.ReasonBy }},
	{Head: "SINCE", Cell: func(l *line) string { return reasonSince(l.like) }},
	{Head: "STATE", Cell: func(l *line) string { return NodeState(l.like) }},
	{Head: "NODES", Cell: func(l *line) string { return strconv.Itoa(len(l.names)) }},
	{Head: "NODELIST", Cell: func(l *line) string { return strings.Join(cli.CompressNames(l.names), ",") }},
}}

func reasonSince(n *v1.Node) string {
	if n.ReasonAt == nil {
		return ""
	}
	return cli.When(*n.ReasonAt)
}

// byReason puts the nodes that have a reason and take no jobs into lines.
func byReason(nodes []v1.Node) []line {
	nodes = slices.DeleteFunc(nodes, func(n v1.Node) bool { return n.Reason == "" || n.Usable })
	return group(nodes, func(n *v1.Node) any { return [...]string{n.Reason, n.ReasonBy, reasonSince(n), NodeState(n)} },
		func(n *v1.Node) string { return string(n.Site) + "/" + n.Name })
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
